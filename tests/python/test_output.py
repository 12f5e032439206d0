"""Single files are written whole or not at all, and never in the place of a link, a device or a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import spinewise
from spinewise import SpecError
from spinewise.runs.file import write_file

SRC = str(Path(spinewise.__file__).parents[1])


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(SpecError, match="--force"):
        write_file(tmp_path / "link", b"new")
    write_file(tmp_path / "link", b"new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    assert names(tmp_path) == {"target", "link"}


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SpecError):
        write_file(tmp_path / "loop", b"new", force=True)
    assert (tmp_path / "loop").is_symlink()


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    """As root, `--out /dev/null --force` put a file there."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(SpecError, match="a pipe" if name == "pipe" else "a device"):
            write_file(tmp_path / name, b"new", force=True)
    assert Path("/dev/null").is_char_device()
    assert names(tmp_path) == {"pipe", "null"}


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_impossible_names_are_refused(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        write_file(name, b"", option="--fct")
    assert caught.value.key == "--fct"


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from spinewise.runs.file import write_file
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_file(sys.argv[1], b"half")
"""
    environment = {**os.environ, "PYTHONPATH": SRC}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.csv")], env=environment, check=False)
    assert len(names(tmp_path)) == 1
    write_file(tmp_path / "b.csv", b"whole")
    assert names(tmp_path) == {"b.csv"}
