"""Commands killed at random instants, a few times each; `python tests/python/killed.py` does it more often."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import killed
from test_folder import child, content, names, write

KILL, INT, TERM = signal.SIGKILL, signal.SIGINT, signal.SIGTERM


@pytest.mark.parametrize(("command", "times"), [("run", 4), ("compare", 2), ("reproduce", 2), ("resilience", 2)])
def test_a_killed_command_leaves_old_results_or_new_ones(tmp_path: Path, command: str, times: int) -> None:
    # Tests that a shell runs in the background are made to ignore it, and so would be what they start.
    signal.signal(INT, signal.default_int_handler)
    left = killed.tried(command, times, tmp_path / "place", [KILL, TERM, KILL, INT])
    assert sum(left.values()) == times


# Where a writer stands when the signal comes: the function that it is about to call.
STEPS = ["owned.list_files", "sync_tree", "refuse_existing", "os.rename", "replace", "exchange", "sync"]


@pytest.mark.parametrize("number", [TERM, KILL])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_at_each_step_of_writing(tmp_path: Path, number: int, step: str, moment: str) -> None:
    code = f"""
import os, signal, sys
from spinewise.cli import main
from spinewise.cli.entry import terminate
from spinewise.runs import folder
from spinewise.runs.folder import *
signal.signal(signal.SIGTERM, terminate)
signal.signal(signal.SIGINT, signal.default_int_handler)
place, _, name = {f"folder.{step}" if not step.startswith("os.") else step!r}.rpartition(".")
place = eval(place)
usual = getattr(place, name)
def stopped(*args, **options):
    if {moment == "before"}:
        os.kill(os.getpid(), {int(number)})
    try:
        result = usual(*args, **options)
    finally:
        os.kill(os.getpid(), {int(number)})
    return result
with folder.new_results(sys.argv[1], force=True) as target:
    (target / "run.json").write_text('{{"format": "spinewise-run-1", "content": "new"}}')
    (target / "sub").mkdir()
    (target / "sub" / "more").write_text("new")
    setattr(place, name, stopped)
"""
    write(tmp_path / "out", "old")
    stopped = child(code, str(tmp_path / "out"))
    stopped.communicate()
    assert stopped.returncode != 0
    assert content(tmp_path / "out") in ("old", "new")
    if number != KILL:
        assert names(tmp_path) == {"out"}
    write(tmp_path / "out", "newer", force=True)
    assert content(tmp_path / "out") == "newer"
    assert names(tmp_path) == {"out"}


@pytest.mark.parametrize(
    ("module", "said"), [("spinewise.cli.entry", ""), ("spinewise.runs.api", "nothing was written")]
)
def test_ctrl_c_while_modules_are_loaded_is_no_traceback(module: str, said: str) -> None:
    """Before the command is there in silence, later in a line."""
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from spinewise.cli import main
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.exit(main(["run", "one_udp_flow"]))
"""
    stopped = child(code)
    out, err = stopped.communicate()
    assert (stopped.returncode, out) == (130, "")
    assert err == (f"spinewise: interrupted; {said}\n" if said else "")


def test_what_takes_time_is_loaded_when_it_is_used() -> None:
    code = (
        "import spinewise, sys; print([one for one in ('numpy', 'pyarrow', 'spinewise._core') if one in sys.modules])"
    )
    assert child(code).communicate()[0] == "[]\n"


def test_many_writers_of_one_place_never_mix(tmp_path: Path) -> None:
    """With --force all succeed, some of them killed; results are those of one of them, whole."""
    code = """
import sys
from pathlib import Path
from spinewise.runs.folder import new_results
for k in range(20):
    with new_results(sys.argv[1], force=True) as target:
        text = f"{sys.argv[2]}-{k}"
        (target / "run.json").write_text('{"format": "spinewise-run-1", "content": "%s"}' % text)
        (target / "sub").mkdir()
        (target / "sub" / "more").write_text(text)
"""
    writers = [child(code, str(tmp_path / "out"), str(k)) for k in range(4)]
    writers[0].kill()
    for k, writer in enumerate(writers):
        _, err = writer.communicate()
        assert k == 0 or writer.returncode == 0, err
    assert content(tmp_path / "out").endswith("-19")
    write(tmp_path / "out", "last", force=True)
    assert names(tmp_path) == {"out"}
