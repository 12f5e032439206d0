"""Results folders: whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import spinewise
from spinewise.errors import SpecError
from spinewise.runs import folder, hidden
from spinewise.runs.folder import new_results

SRC = str(Path(spinewise.__file__).parents[1])


def child(code: str, *args: str) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def write(destination: Path, content: str = "new", *, force: bool = False) -> None:
    with new_results(destination, force=force) as target:
        (target / "run.json").write_text(json.dumps({"format": "spinewise-run-1", "content": content}))
        (target / "sub").mkdir()
        (target / "sub" / "more").write_text(content)


def content(destination: Path) -> str:
    """What `write` has written there, which must be whole."""
    written = str(json.loads((destination / "run.json").read_text())["content"])
    assert (destination / "sub" / "more").read_text() == written
    return written


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
    assert content(tmp_path / "out") == "old"


def test_results_that_appear_while_running_are_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="in the meantime") as caught, new_results(tmp_path / "out") as target:
        (target / "run.json").write_text("late")
        write(tmp_path / "out", "early")
    assert "--force" not in str(caught.value)
    assert content(tmp_path / "out") == "early"
    assert names(tmp_path) == {"out"}


@pytest.mark.parametrize("renameat2", [True, False])
def test_force_replaces_results_whole(tmp_path: Path, renameat2: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not renameat2:
        monkeypatch.setattr("ctypes.CDLL", lambda *_args, **_kwargs: object())
    write(tmp_path / "out", "old")
    write(tmp_path / "out", "new", force=True)
    assert content(tmp_path / "out") == "new"
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


OURS = {"format": "spinewise-run-1", "files": ["run.json"]}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("{}", "names no format"),
        ("no JSON", "names no format"),
        ("[1]", "names no format"),
        (json.dumps({"format": "other-1"}), "'other-1'"),
        (json.dumps({"format": "spinewise-run-99"}), "spinewise-run-99"),
        (json.dumps({"format": "spinewise-run-1"}), "does not list"),
        (json.dumps({"format": "spinewise-run-1", "files": 5}), "does not list"),
        (json.dumps({"format": "spinewise-run-1", "files": ["run.json", 5]}), "does not list"),
        (json.dumps(OURS), "thesis.tex"),
    ],
)
def test_a_file_called_run_json_makes_no_results_folder(tmp_path: Path, record: str, said: str) -> None:
    """A folder with a foreign run.json was replaced, and all else in it lost."""
    (tmp_path / "run.json").write_text(record)
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(SpecError) as caught:
        write(tmp_path, force=True)
    assert said in str(caught.value.hint)
    assert names(tmp_path) == {"run.json", "thesis.tex"}


def foreign_file(folder: Path) -> str:
    (folder / "notes.md").write_text("mine")
    return "notes.md"


def foreign_file_below(folder: Path) -> str:
    (folder / "sub" / "notes.md").write_text("mine")
    return "sub/notes.md"


def foreign_folder(folder: Path) -> str:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.md").write_text("mine")
    return "mine/"


def foreign_link(folder: Path) -> str:
    (folder / "sub" / "more").unlink()
    (folder / "sub" / "more").symlink_to("/etc/passwd")
    return "sub/more"


def foreign_in_place_of_a_file(folder: Path) -> str:
    (folder / "sub" / "more").unlink()
    (folder / "sub" / "more").mkdir()
    return "sub/more/"


@pytest.mark.parametrize(
    "add", [foreign_file, foreign_file_below, foreign_folder, foreign_link, foreign_in_place_of_a_file]
)
def test_what_was_put_beside_results_is_named_and_kept(tmp_path: Path, add: Callable[[Path], str]) -> None:
    write(tmp_path / "out", "old")
    name = add(tmp_path / "out")
    before = sorted(str(path) for path in (tmp_path / "out").rglob("*"))
    with pytest.raises(SpecError) as caught:
        write(tmp_path / "out", "new", force=True)
    assert caught.value.hint == f"found {name}, which Spinewise did not write there"
    assert sorted(str(path) for path in (tmp_path / "out").rglob("*")) == before
    assert names(tmp_path) == {"out"}


def test_results_within_results_are_ours_as_well(tmp_path: Path) -> None:
    """`spinewise plot` puts its figures into the folder of the run."""
    write(tmp_path / "out", "old")
    with new_results(tmp_path / "out" / "figures") as target:
        (target / "plot.json").write_text('{"format": "spinewise-plot-1"}')
        (target / "cdf.png").write_text("")
    (tmp_path / "out" / "figures" / "mine.png").write_text("")
    with pytest.raises(SpecError, match="found figures/, which"):
        write(tmp_path / "out", force=True)
    (tmp_path / "out" / "figures" / "mine.png").unlink()
    write(tmp_path / "out", "new", force=True)
    assert content(tmp_path / "out") == "new"


def test_other_results_within_results_are_named_and_kept(tmp_path: Path) -> None:
    """A run that was put into the folder of another was removed with it."""
    write(tmp_path / "out", "old")
    write(tmp_path / "out" / "other", "precious")
    with pytest.raises(SpecError, match="found other/, which has results of its own") as caught:
        write(tmp_path / "out", force=True)
    assert caught.value.key == "--out"
    assert (content(tmp_path / "out"), content(tmp_path / "out" / "other")) == ("old", "precious")


def test_many_foreign_files_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "out")
    for k in range(9):
        (tmp_path / "out" / f"photo{k}").write_text("")
    with pytest.raises(SpecError, match="photo0, photo1, photo2, photo3, photo4 and 4 more"):
        write(tmp_path / "out", force=True)


@pytest.mark.parametrize("renameat2", [True, False])
def test_a_file_that_appears_at_the_last_moment_is_kept(
    tmp_path: Path, renameat2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not renameat2:
        monkeypatch.setattr("ctypes.CDLL", lambda *_args, **_kwargs: object())
    write(tmp_path / "out", "old")
    usual = folder.exchange

    def late(new: Path, old: Path) -> None:
        if not (new / "thesis.tex").exists():
            (old / "thesis.tex").write_text("precious")
        usual(new, old)

    monkeypatch.setattr(folder, "exchange", late)
    with pytest.raises(SpecError, match=r"thesis\.tex"):
        write(tmp_path / "out", "new", force=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "precious"
    assert content(tmp_path / "out") == "old"
    assert names(tmp_path) == {"out"}


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("target", ["results", "empty", "nothing", "link"])
def test_a_link_is_never_replaced(tmp_path: Path, target: str, force: bool) -> None:
    """It was, and its end was left behind under a hidden name."""
    write(tmp_path / "results", "old")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(SpecError, match="symbolic link"):
        write(tmp_path / "link", force=force)
    assert names(tmp_path) == {"results", "empty", "link"}
    assert os.readlink(tmp_path / "link") == target


def test_links_on_the_way_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/deep")
    write(tmp_path / "link" / "out")
    write(tmp_path / "link" / ".." / "beside")
    assert names(tmp_path / "real" / "deep") == {"out"}
    assert names(tmp_path / "real") == {"deep", "beside"}


def test_the_folder_one_is_in_is_not_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for name in (".", "..", str(tmp_path / "empty"), "../empty"):
        with pytest.raises(SpecError, match="the current one"):
            write(Path(name))
    assert names(tmp_path) == {"empty"}


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_no_name_and_an_impossible_name_are_refused(name: str) -> None:
    with pytest.raises(SpecError) as caught, new_results(name):
        pass
    assert caught.value.key == "--out"


def test_a_read_only_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before the run, and nothing hidden stays beside it."""
    write(tmp_path / "out", "old")
    (tmp_path / "out").chmod(0o555)
    # Root may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK or bool(Path(path).stat().st_mode & 0o200))
    with pytest.raises(SpecError, match=r"read-only \(mode 555\)"):
        write(tmp_path / "out", force=True)
    assert content(tmp_path / "out") == "old"
    assert names(tmp_path) == {"out"}


def test_read_only_folders_in_what_is_hidden_are_removed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = shutil.rmtree

    def as_for_users(path: Path, *, ignore_errors: bool) -> None:
        if all(Path(inside).stat().st_mode & 0o200 for inside, _, _ in os.walk(path)):
            usual(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", as_for_users)
    with pytest.raises(RuntimeError), new_results(tmp_path / "out") as target:
        (target / "sub").mkdir()
        (target / "sub").chmod(0o555)
        raise RuntimeError
    assert names(tmp_path) == set()


def test_a_record_that_may_not_be_read_is_no_wrong_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out", "old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SpecError, match=r"run\.json may not be read by you"):
        write(tmp_path / "out", force=True)


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
    assert content(tmp_path / "out") == "old"
    assert names(tmp_path) == {"out"}


def test_an_unwritable_place_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = []
    with pytest.raises(SpecError) as caught, new_results(tmp_path / "file" / "out"):
        ran.append(1)
    assert caught.value.key == "--out"
    assert not ran


@pytest.mark.parametrize("below", ["out", "more/out"])
def test_a_file_on_the_way_is_named(tmp_path: Path, below: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step below a file the hint was "File exists"."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").touch()
    with pytest.raises(SpecError) as caught, new_results(f"afile/{below}"):
        pass
    assert caught.value.hint == "afile is a file, not a folder"


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


def test_what_killed_writers_left_for_other_places_is_cleaned_up_too(tmp_path: Path) -> None:
    writers = [child(HOLD, str(tmp_path / f"out{k}")) for k in range(3)]
    for killed in writers:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "open\n"
    for killed in writers:
        killed.kill()
        killed.communicate()
    foreign = {".out0.spinewise-partial-notes", ".out0.partial-abcdefgh", ".x.spinewise-partial-12345678.txt"}
    for name in foreign:
        (tmp_path / name).mkdir()
    (tmp_path / ".lnk.spinewise-partial-abcdefgh").symlink_to("/nowhere")
    assert len(names(tmp_path)) == 7
    write(tmp_path / "another")
    assert names(tmp_path) == {"another", ".lnk.spinewise-partial-abcdefgh", *foreign}


@pytest.mark.parametrize("step", ["made", "listed", "synced"])
def test_a_writer_killed_at_any_step_leaves_nothing_that_stays(tmp_path: Path, step: str) -> None:
    """Folders without the lock in them, as for the time of syncing, were left for good."""
    place = {"made": "tempfile.mkdtemp", "listed": "folder.sync_tree", "synced": "os.rename"}[step]
    code = f"""
import os, signal, sys, tempfile
from spinewise.runs import folder, hidden
usual = {place}
def die(*args, **options):
    if {step == "made"}:
        usual(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{place} = die
with folder.new_results(sys.argv[1]) as target:
    (target / "run.json").write_text('{{"format": "spinewise-run-1"}}')
"""
    killed = child(code, str(tmp_path / "out"))
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    assert "out" not in names(tmp_path)
    write(tmp_path / "out")
    assert names(tmp_path) == {"out"}


def test_a_writer_killed_between_two_steps_loses_no_old_results(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    code = """
import ctypes, os, signal, sys
from spinewise.runs import folder, hidden
ctypes.CDLL = lambda *args, **options: object()
usual = os.rename
def rename(source, target):
    if "aside" in str(source):
        os.kill(os.getpid(), signal.SIGKILL)
    if str(target) == sys.argv[1] and "partial" in str(source) and not os.path.exists(target):
        os.kill(os.getpid(), signal.SIGKILL)
    usual(source, target)
os.rename = rename
with folder.new_results(sys.argv[1], force=True) as target:
    (target / "run.json").write_text('{"format": "spinewise-run-1"}')
"""
    killed = child(code, str(tmp_path / "out"))
    _, err = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, err
    assert not (tmp_path / "out").exists()
    with pytest.raises(SpecError, match="--force replaces the results"):
        write(tmp_path / "out")
    assert content(tmp_path / "out") == "old"
    write(tmp_path / "out", "new", force=True)
    assert content(tmp_path / "out") == "new"
    assert names(tmp_path) == {"out"}


def test_scratch_of_a_killed_process_is_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with hidden.scratch() as own:
        (own / "flows.csv").write_text("")
        code = """
import os, sys, tempfile
from spinewise.runs.hidden import scratch
tempfile.tempdir = sys.argv[1]
with scratch() as folder:
    (folder / "flows.csv").write_text("")
    os.kill(os.getpid(), 9)
"""
        killed = child(code, str(tmp_path))
        killed.communicate()
        assert len(names(tmp_path)) == 2
        with hidden.scratch():
            assert own.exists()
            assert len(names(tmp_path)) == 2
    assert names(tmp_path) == set()


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
    assert content(tmp_path / "out") == "old"
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
        for name in ("a", "b", "c"):
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_what_is_made_is_known(tmp_path: Path, number: int) -> None:
    """One that came between making a hidden folder and knowing of it left the folder there."""
    code = f"""
import os, signal, sys, tempfile
from spinewise.cli.entry import terminate
from spinewise.runs.folder import new_results
signal.signal(signal.SIGTERM, terminate)
signal.signal(signal.SIGINT, signal.default_int_handler)
usual = tempfile.mkdtemp
def made(*args, **options):
    path = usual(*args, **options)
    os.kill(os.getpid(), {int(number)})
    return path
tempfile.mkdtemp = made
with new_results(sys.argv[1]) as target:
    print("never", flush=True)
"""
    stopped = child(code, str(tmp_path / "out"))
    out, _ = stopped.communicate()
    assert stopped.returncode != 0
    assert out == ""
    assert names(tmp_path) == set()
