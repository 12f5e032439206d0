"""Results folders: whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spinewise.errors import SpecError
from spinewise.runs import folder
from spinewise.runs.folder import new_results

SRC = str(Path(folder.__file__).parents[1])


def child(code: str, *args: str) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def write(destination: Path, content: str = "{}", *, force: bool = False) -> None:
    with new_results(destination, force=force) as target:
        (target / "run.json").write_text(content)
        (target / "sub").mkdir()
        (target / "sub" / "more").write_text(content)


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_everything_appears_at_once_with_ordinary_permissions(tmp_path: Path) -> None:
    with new_results(tmp_path / "a" / "out") as target:
        (target / "run.json").write_text("{}")
        assert not (tmp_path / "a" / "out").exists()
    assert names(tmp_path / "a") == {"out"}
    assert names(tmp_path / "a" / "out") == {"run.json"}
    ordinary = tmp_path / "ordinary"
    ordinary.mkdir()
    assert (tmp_path / "a" / "out").stat().st_mode == ordinary.stat().st_mode


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out")
    assert names(tmp_path / "out") == {"run.json", "sub"}


def test_existing_results_are_never_replaced_unasked(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    with pytest.raises(SpecError) as caught:
        write(tmp_path / "out", "new")
    assert caught.value.key == "--out"
    assert "--force" in str(caught.value.hint)
    assert (tmp_path / "out" / "run.json").read_text() == "old"


def test_results_that_appear_while_running_are_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(SpecError), new_results(tmp_path / "out") as target:
        (target / "run.json").write_text("late")
        write(tmp_path / "out", "early")
    assert (tmp_path / "out" / "run.json").read_text() == "early"
    assert names(tmp_path) == {"out"}


@pytest.mark.parametrize("renameat2", [True, False])
def test_force_replaces_results_whole(tmp_path: Path, renameat2: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not renameat2:
        monkeypatch.setattr("ctypes.CDLL", lambda *_args, **_kwargs: object())
    write(tmp_path / "out", "old")
    (tmp_path / "out" / "extra").write_text("stays only in the old one")
    write(tmp_path / "out", "new", force=True)
    assert (tmp_path / "out" / "run.json").read_text() == "new"
    assert names(tmp_path / "out") == {"run.json", "sub"}
    assert names(tmp_path) == {"out"}


def test_force_never_replaces_anything_but_results(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("precious")
    with pytest.raises(SpecError):
        write(tmp_path / "home", force=True)
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SpecError):
        write(tmp_path / "file", force=True)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "precious"
    assert names(tmp_path) == {"home", "file"}


def test_an_error_while_running_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_results(tmp_path / "out") as target:
        (target / "run.json").write_text("half")
        _ = 1 // 0
    assert names(tmp_path) == set()


def test_an_error_with_force_leaves_the_old_results(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    with pytest.raises(KeyboardInterrupt), new_results(tmp_path / "out", force=True) as target:
        (target / "run.json").write_text("half")
        raise KeyboardInterrupt
    assert (tmp_path / "out" / "run.json").read_text() == "old"
    assert names(tmp_path) == {"out"}


def test_an_unwritable_place_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = []
    with pytest.raises(SpecError) as caught, new_results(tmp_path / "file" / "out"):
        ran.append(1)
    assert caught.value.key == "--out"
    assert not ran


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_what_the_system_refuses_is_said(tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> str:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(SpecError) as caught:
        write(tmp_path / "out")
    assert caught.value.value == str(tmp_path / "out")
    assert caught.value.hint
    assert names(tmp_path) == set()


def mount_tmpfs(place: Path) -> bool:
    """Mount 256 KB of memory at `place`, where we may."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """On a tmpfs of 256 KB where we may mount one, else under a limit on file sizes."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = mount_tmpfs(small)
    limit = "" if mounted else "resource.setrlimit(resource.RLIMIT_FSIZE, (262144, 262144))"
    code = f"""
import resource, signal, sys
from pathlib import Path
from samples import result
from spinewise.errors import SpecError
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
{limit}
n = 200_000
big = result(size_bytes=np.random.default_rng(1).integers(1, 2**40, n), finished=np.zeros(n, bool))
try:
    big.write(sys.argv[1])
except SpecError as error:
    print(error.key, "|", error.hint)
    sys.exit(2)
"""
    try:
        process = subprocess.run(
            [sys.executable, "-c", code, str(small / "out")],
            env={**os.environ, "PYTHONPATH": f"{SRC}:{Path(__file__).parent}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 2, process.stderr
        assert process.stdout.startswith("--out")
        assert ("full" if mounted else "limit") in process.stdout
        assert names(small) == set()
    finally:
        if mounted:
            subprocess.run(["umount", str(small)], check=True)


HOLD = """
import sys, time
from spinewise.runs.folder import new_results
with new_results(sys.argv[1], force=True) as target:
    (target / "run.json").write_text("half")
    print("open", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_destination_alone_and_is_cleaned_up(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    killed = child(HOLD, str(tmp_path / "out"))
    assert killed.stdout is not None
    assert killed.stdout.readline() == "open\n"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (tmp_path / "out" / "run.json").read_text() == "old"
    assert len(names(tmp_path)) == 2
    write(tmp_path / "out", "new", force=True)
    assert names(tmp_path) == {"out"}


def test_a_living_writer_is_not_cleaned_up(tmp_path: Path) -> None:
    living = child(HOLD, str(tmp_path / "out"))
    try:
        assert living.stdout is not None
        assert living.stdout.readline() == "open\n"
        write(tmp_path / "out", "other")
        hidden = names(tmp_path) - {"out"}
        assert len(hidden) == 1
        assert (tmp_path / hidden.pop() / "run.json").read_text() == "half"
    finally:
        living.kill()
        living.communicate()


def test_two_writers_race_and_one_wins_whole(tmp_path: Path) -> None:
    code = """
import sys
from spinewise.runs.folder import new_results
from spinewise.errors import SpecError
try:
    with new_results(sys.argv[1]) as target:
        for name in ("run.json", "a", "b"):
            (target / name).write_text(sys.argv[2])
except SpecError:
    sys.exit(2)
"""
    writers = [child(code, str(tmp_path / "out"), str(k)) for k in range(4)]
    for writer in writers:
        writer.communicate()
    assert sorted(writer.returncode for writer in writers) == [0, 2, 2, 2]
    contents = {path.read_text() for path in (tmp_path / "out").iterdir()}
    assert len(contents) == 1
    assert names(tmp_path) == {"out"}
