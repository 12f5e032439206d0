"""Odd input: endless, deep, odd or wrongly typed; each is refused in words, in bounded time and memory."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise
from samples import TINY_SPEC
from spinewise import SpecError, load, resolve
from spinewise.cli import main
from spinewise.plain import MOST_LEVELS, plain
from spinewise.specs import spec as specs

SRC = str(Path(spinewise.__file__).parents[1])
# As a notebook knows them: without types.
compare: Any = spinewise.compare
run: Any = spinewise.run
advise: Any = spinewise.advise
query: Any = spinewise.query
read: Any = spinewise.read
sweep: Any = spinewise.sweep
verdicts: Any = spinewise.verdicts
write: Any = spinewise.write
Scheme = spinewise.HostScheme

BOM = "\ufeff"


def limited(*args: object, megabytes: int = 3000) -> subprocess.CompletedProcess[str]:
    """The command with a limit on its memory, and a time after which it hangs."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    return subprocess.run(
        [sys.executable, "-m", "spinewise", *map(str, args)],
        env={**os.environ, "PYTHONPATH": SRC},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


COMMANDS = {
    "run": [],
    "validate": [],
    "compare": ["--schemes", "ecmp,rps"],
    "import topology": [],
    "import cdf": [],
    "export": ["--fct", "fct"],
}


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/urandom", "/dev/null", "folder", "pipe"])
@pytest.mark.parametrize("command", COMMANDS)
def test_only_ordinary_files_are_read(
    tmp_path: Path, file: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`run /dev/zero` took all memory, and a pipe was waited for."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    path = file if file.startswith("/") else str(tmp_path / file)
    assert main([*command.split(), path, *COMMANDS[command]]) == 2
    err = capsys.readouterr().err
    assert any(word in err for word in ("device", "folder", "pipe", "a results folder"))


@pytest.mark.parametrize("command", ["run", "validate"])
@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin"])
def test_endless_input_takes_no_memory(command: str, file: str) -> None:
    done = limited(command, file, megabytes=2000)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/urandom", "folder", "pipe"])
@pytest.mark.parametrize(
    "line",
    [
        'traffic = [{kind = "poisson", load = 0.1, cdf_file = "FILE"}]',
        'traffic = [{kind = "flows", file = "FILE"}]',
        'traffic = [{kind = "flows", file = "FILE", format = "hpcc"}]',
        'topology = {kind = "links", file = "FILE"}\ntraffic = []',
    ],
)
def test_files_named_in_a_spec_are_ordinary_ones_too(tmp_path: Path, file: str, line: str) -> None:
    """The engine read `/dev/zero` until memory was gone."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "spec.toml").write_text(line.replace("FILE", file))
    with pytest.raises(SpecError) as caught:
        resolve(tmp_path / "spec.toml")
    assert "file" in caught.value.key
    assert any(word in str(caught.value.hint) for word in ("device", "folder", "pipe"))


@pytest.mark.parametrize(
    "words", [["run", "a.toml"], ["import", "cdf", "a.toml"], ["plot", "results"], ["report", "results"]]
)
def test_a_file_that_may_not_be_read_is_no_wrong_format(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file, or a folder that may not be looked into; root may read all, so the system is not asked."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").touch()
    (tmp_path / "results").mkdir()
    usual, usual_stat = os.open, os.stat

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith("a.toml"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return usual(path, *rest, **more)

    def refuse_stat(path: Any, **more: Any) -> os.stat_result:
        if str(path).startswith("results/"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return usual_stat(path, **more)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "stat", refuse_stat)
    assert main([*words, *(["--out", "page.html"] if words[0] in ("report", "plot", "import") else [])]) == 2
    told = capsys.readouterr().err
    assert "that you may read" in told
    assert "Permission denied" in told


def test_too_long_a_spec_is_refused_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    with path.open("wb") as stream:
        stream.truncate(64_000_001)
    with pytest.raises(SpecError, match="of 0 to 64,000,000 bytes") as caught:
        load(path)
    assert caught.value.hint == "it has 64,000,001"


def test_a_file_that_hides_its_size_is_read_to_the_limit() -> None:
    """Files of /proc tell that they are empty."""
    from spinewise.reading import read_bytes

    with pytest.raises(SpecError, match="of 0 to 10 bytes"):
        read_bytes("/proc/self/environ", "file", most=10)


DEEP = {
    "lists": "a = " + "[" * 5000,
    "lists that end": "a = " + "[" * 5000 + "]" * 5000,
    "tables": "a = " + "{b = " * 5000,
    "a dotted key": ".".join(["a"] * 5000) + " = 1",
    "a dotted table": f"[{'.'.join(['a'] * 5000)}]",
    "some levels": "a = " + "[" * 40 + "]" * 40,
    "a long number": "seed = " + "9" * 5000,
    "a long hexadecimal number": "seed = 0x" + "f" * 5000,
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_and_long_input_is_refused(tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It ended in a RecursionError."""
    path = tmp_path / "deep.toml"
    path.write_text(DEEP[case])
    assert main(["run", str(path)]) == 2
    err = capsys.readouterr().err
    assert str(path) in err
    assert "allowed" in err
    assert len(err) < 2000


@pytest.mark.parametrize(
    "value", ["[" * 5000, "9" * 5000, "0x" + "f" * 5000, "1\nb = 2", "{a = " * 2000, "'\ud800'", "\0"]
)
def test_odd_overrides_are_refused(tiny: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tiny), "--set", f"seed={value}"]) == 2
    assert main(["compare", str(tiny), "--schemes", f"ecmp,drill:d={value}"]) == 2
    err = capsys.readouterr().err
    assert "seed" in err
    assert "--schemes" in err or "in scheme drill" in err
    deep = f"{'.'.join(['a'] * 5000)}=1"
    assert main(["validate", str(tiny), "--set", deep]) == 2


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text(f"{BOM}0 0\n1000 1\n")
    (tmp_path / "flows.csv").write_text(f"{BOM}src,dst,size_bytes,start_ns\n0,2,1000,0\n")
    (tmp_path / "spec.toml").write_text(
        f'{BOM}topology = {{hosts_per_leaf = 2}}\ntraffic = [{{kind = "poisson", load = 0.1, duration_us = 10,'
        ' cdf_file = "sizes.txt"}, {kind = "flows", file = "flows.csv"}]\n'
    )
    assert run(tmp_path / "spec.toml").report["flows"] > 0


@pytest.mark.parametrize("key", ["traffic[0].file", "traffic[0].cdf_file", "topology.file"])
@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "loop", "\ud800"])
def test_impossible_names_of_files_are_refused(tmp_path: Path, key: str, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    table, _, last = key.rpartition(".")
    value = str(tmp_path / name) if name == "loop" else name
    kind = "poisson" if last == "cdf_file" else "flows"
    spec: dict[str, Any] = {"traffic": [{"kind": kind, "load": 0.1}]}
    if table == "topology":
        spec["topology"] = {"kind": "links", "file": value}
    else:
        spec["traffic"][0][last] = value
    with pytest.raises(SpecError):
        resolve(spec)
    if name != "\ud800":
        (tmp_path / "spec.toml").write_text(f'topology.file = "{name}"'.replace("\0", "\\u0000"))
        with pytest.raises(SpecError):
            resolve(tmp_path / "spec.toml")


def contains_itself() -> dict[str, Any]:
    spec: dict[str, Any] = {"traffic": []}
    spec["topology"] = spec
    return spec


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: run(None), TypeError, "a dict or the path of a TOML file"),
        (lambda: run([]), TypeError, "a dict or the path of a TOML file"),
        (lambda: run(5), TypeError, "not int"),
        (lambda: run(b"x.toml"), TypeError, "not bytes"),
        (lambda: run(TINY_SPEC, trace=5), TypeError, "trace: a list"),
        (lambda: run(TINY_SPEC, trace=["x"]), SpecError, "0 to 4294967295"),
        (lambda: run(TINY_SPEC, progress=5), TypeError, "progress: a function"),
        (lambda: run(TINY_SPEC, seed="x"), SpecError, "seed"),
        (lambda: compare(TINY_SPEC, 5), TypeError, "schemes: a text or a list"),
        (lambda: compare(TINY_SPEC, [5]), SpecError, "NAME:key=value"),
        (lambda: compare(None, "ecmp,rps"), TypeError, "a dict or the path"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", loads=-5), SpecError, "numbers above 0"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", loads="0.5"), SpecError, "numbers above 0"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", seeds="x"), SpecError, "1 to 10000"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", seeds=[1, 1]), SpecError, "different seeds"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", seeds=[1, "x"]), SpecError, "different seeds"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", jobs=0), SpecError, "1 to 1024"),
        (lambda: compare(TINY_SPEC, "ecmp,rps", jobs="x"), SpecError, "1 to 1024"),
        (lambda: compare({**TINY_SPEC, "traffic": [5]}, "ecmp,rps", loads=[0.5]), SpecError, "load"),
        (lambda: compare({**TINY_SPEC, "traffic": 5}, "ecmp,rps", loads=[0.5]), SpecError, "load"),
        (lambda: compare(TINY_SPEC, Scheme), TypeError, "not the class HostScheme"),
        (lambda: sweep(3), TypeError, "study: the path of a study file is needed, not int"),
        (
            lambda: sweep("x.toml", monitor=3),
            TypeError,
            "monitor: an object with the methods planned, expected, started, advanced, finished is needed, not int",
        ),
        (lambda: compare(TINY_SPEC, "ecmp,rps", monitor=3), TypeError, "monitor: an object with the methods"),
        (lambda: advise(TINY_SPEC, monitor=3), TypeError, "monitor: an object with the methods"),
        (lambda: verdicts(None), TypeError, "comparison: what spinewise.compare gives is needed, not NoneType"),
        (lambda: sweep("x.toml", schemes=Scheme), TypeError, "schemes: a list of classes is needed, not the class"),
        (lambda: sweep("x.toml", schemes="ecmp"), TypeError, "schemes: a list of classes"),
        (lambda: sweep("x.toml", overrides="seed=1"), TypeError, "overrides: a list of texts"),
        (lambda: sweep("x.toml", budget_s="3s"), SpecError, "budget_s = 3s: allowed is a number of seconds"),
        (lambda: advise(TINY_SPEC, budget_s="3s"), SpecError, "budget_s = 3s: allowed is a number of seconds"),
        (lambda: advise(TINY_SPEC, band=2), SpecError, "a share above 0"),
        (lambda: advise(TINY_SPEC, may=3), TypeError, "may: a text or a list"),
        (lambda: advise(TINY_SPEC, aims=3), TypeError, "aims: a text or a list"),
        (lambda: advise(TINY_SPEC, schemes=Scheme), TypeError, "not the class HostScheme"),
        (lambda: write(3, "x"), TypeError, "results: what spinewise.run or spinewise.compare gives is needed, not int"),
        (lambda: write(3, 3), TypeError, "folder: a path is needed"),
        (lambda: read(3), TypeError, "folder: a path is needed"),
        (lambda: query(3, "SELECT 1"), TypeError, "store: a path is needed"),
        (lambda: query("x", 3), TypeError, "sql: a SELECT statement"),
        (lambda: resolve({**TINY_SPEC, "topology": {1: 2}}), SpecError, "keys that are strings"),
        (lambda: resolve({**TINY_SPEC, "": 1}), SpecError, "keys of 1 character"),
        (lambda: resolve({**TINY_SPEC, "seed": 10**5000}), SpecError, "bits"),
        (lambda: resolve({**TINY_SPEC, "name": object()}), SpecError, "object"),
        (lambda: resolve({**TINY_SPEC, "name": "\ud800"}), SpecError, "UTF-8"),
        (lambda: resolve(contains_itself()), SpecError, "contain itself"),
        (lambda: resolve({**TINY_SPEC, "scheme": {"name": "drill", "params": 5}}), SpecError, "scheme.params"),
    ],
)
def test_wrong_types_are_named(call: Callable[[], object], error: type[Exception], said: str) -> None:
    """They came as errors of whatever line met them first."""
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    """A sweep over `np.arange` was refused."""
    given: dict[str, Any] = {
        **TINY_SPEC,
        "seed": np.int64(4),
        "topology": {"leaves": np.int8(2), "spines": np.uint16(2), "hosts_per_leaf": np.int32(2)},
        "traffic": [{**TINY_SPEC["traffic"][0], "load": np.float32(0.25), "duration_us": np.float64(5000)}],
    }
    plainly = {
        **TINY_SPEC,
        "seed": 4,
        "traffic": [{**TINY_SPEC["traffic"][0], "load": 0.25, "duration_us": 5000.0}],
    }
    assert resolve(given) == resolve(plainly)
    src, dst, size, start = np.array([0, 2, 9, 1])
    listed = {"kind": "flows", "list": [{"src": src, "dst": dst, "size_bytes": size, "start_ns": start}]}
    assert resolve({**TINY_SPEC, "traffic": (listed,)})["traffic"][0]["list"][0]["dst"] == 2
    seed: Any = np.int64(7)
    assert resolve(TINY_SPEC, seed=seed)["seed"] == 7
    given["scheme"] = {"name": "drill"}
    found = compare(given, "ecmp,rps", loads=np.array([0.2]), seeds=np.arange(1, 3), jobs=np.int64(1))
    assert found.seeds == [1, 2]
    assert found.loads == [0.2]
    assert run(given, trace=np.array([0])).trace is not None


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (np.array([1, 2]), [1, 2]),
        (np.array([[0.5], [1.5]]), [[0.5], [1.5]]),
        (np.array(3), 3),
        (np.str_("a"), "a"),
        (np.bool_(True), True),
        ((1, (2,)), [1, [2]]),
        (Path("a/b"), "a/b"),
        (True, True),
        (None, None),
    ],
)
def test_what_values_become(value: object, becomes: object) -> None:
    table = plain({"key": value})
    assert isinstance(table, dict)
    found = table["key"]
    assert found == becomes
    assert type(found) is type(becomes)


@pytest.mark.parametrize("value", [np.nan, np.float32("inf"), np.datetime64("2020-01-01"), {1}, 1j, b"x", 2**64])
def test_what_is_not_plain_is_refused_by_key(value: object) -> None:
    with pytest.raises(SpecError) as caught:
        plain({"a": [{"key": value}]})
    assert caught.value.key == "a[0].key"


def test_as_many_levels_as_allowed_are_read() -> None:
    value: Any = 1
    for _ in range(MOST_LEVELS):
        value = [value]
    assert plain(value) == value
    with pytest.raises(SpecError, match=f"1 to {MOST_LEVELS} levels"):
        plain([value])


def test_a_copy_is_private() -> None:
    given = {"a": [1, {"b": 2}]}
    copy = specs.as_tables(given)
    assert isinstance(copy["a"], list)
    assert isinstance(copy["a"][1], dict)
    copy["a"][1]["b"] = 3
    assert given == {"a": [1, {"b": 2}]}


def test_plain_is_quick() -> None:
    """A list of a million flows must not cost more than it did."""
    flows = [{"src": 0, "dst": 2, "size_bytes": 1000, "start_ns": k} for k in range(20_000)]
    start = time.process_time()
    plain({"list": flows})
    assert time.process_time() - start < 2.0


def test_a_folder_of_papers_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in ("a = ", "a = 1", "paper = 5", "[[paper]]\nkey = 'x'\nexperiment = [5]", "[" * 9999):
        (tmp_path / "papers.toml").write_text(content)
        assert main(["reproduce", "list", "--papers", str(tmp_path)]) == 2
        assert "papers.toml" in capsys.readouterr().err


def test_no_flows_are_refused(tmp_path: Path) -> None:
    """An empty list ran, and ended with a summary of nothing."""
    (tmp_path / "flows.csv").write_text("src,dst,size_bytes,start_ns\n")
    entries: list[dict[str, Any]] = [{"list": []}, {"file": str(tmp_path / "flows.csv")}]
    for entry in entries:
        with pytest.raises(SpecError, match="at least one flow"):
            resolve({**TINY_SPEC, "traffic": [{"kind": "flows", **entry}]})


def test_a_flap_that_never_ends_is_set_up_in_no_time() -> None:
    """The fuzzer found it: each of 5,000 outages was looked for among all others, which took longer than the run."""
    flap = {"kind": "flap", "switch": "core3", "at_us": 0, "period_us": 1100, "down_us": 500}
    spec = {
        "topology": {"kind": "fat_tree", "k": 4},
        "traffic": [{"kind": "permutation", "size_bytes": 1000}],
        "fault": [flap],
        "run": {"until_us": 10_000_000},
    }
    start = time.process_time()
    run(spec)
    assert time.process_time() - start < 5.0
