from __future__ import annotations

import datetime
import sys
from copy import deepcopy
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from samples import TINY_SPEC
from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.specs import spec


def overridden(plain: dict[str, Any], *texts: str) -> dict[str, Any]:
    for text in texts:
        spec.apply_override(plain, text)
    return plain


def test_overrides_are_toml_values_or_bare_words() -> None:
    plain = overridden(
        {"traffic": [{"load": 0.1}]},
        "traffic[0].load=0.5",
        "topology.leaves=4",
        "scheme.name=pdlb",
        'name="a b"',
        "run.list=[1, 2]",
        "flag=true",
    )
    assert plain == {
        "traffic": [{"load": 0.5}],
        "topology": {"leaves": 4},
        "scheme": {"name": "pdlb"},
        "name": "a b",
        "run": {"list": [1, 2]},
        "flag": True,
    }


def test_dotted_and_bracketed_indices_are_the_same() -> None:
    dotted = overridden({"traffic": [{}, {}]}, "traffic.1.load=0.5")
    assert dotted == overridden({"traffic": [{}, {}]}, "traffic[1].load=0.5")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("topology.leaves", "--set"),
        ("=3", "--set"),
        ("topology..leaves=3", "--set"),
        (".leaves=3", "--set"),
        ("traffic[5].load=0.5", "--set traffic[5].load"),
        ("traffic.one.load=0.5", "--set traffic.one.load"),
        ("name.deeper.still=1", "--set name.deeper.still"),
        ("name.deeper=1", "--set name.deeper"),
        ("topology.leaves=3 4", "--set topology.leaves"),
    ],
)
def test_malformed_overrides_say_what_is_wrong(text: str, key: str) -> None:
    with pytest.raises(SpecError) as caught:
        overridden({"name": "x", "traffic": [{}]}, text)
    assert caught.value.key == key
    assert caught.value.allowed


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        spec.load(tmp_path / "none.toml")
    assert caught.value.file == str(tmp_path / "none.toml")
    assert "No such file" in str(caught.value.hint)


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"a = 1\na = 2"])
def test_what_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        spec.load(path)
    assert caught.value.file == str(path)


def test_file_names_are_relative_to_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('[[traffic]]\nkind = "flows"\nfile = "x.csv"\n[[traffic]]\ncdf_file = "/abs/c.txt"\n')
    entries = spec.load(path)["traffic"]
    assert entries[0]["file"] == str(tmp_path / "x.csv")
    assert entries[1]["cdf_file"] == "/abs/c.txt"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), datetime.date(2020, 1, 1), {1: 2}, [1, {2}]])
def test_what_json_cannot_say_is_refused_by_key(value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        core.encode({"run": {"until_us": value}})
    assert caught.value.key.startswith("run.until_us")


def test_the_hash_depends_on_values_alone() -> None:
    assert spec.spec_hash({"seed": 1, "name": "x"}) == spec.spec_hash({"name": "x", "seed": 1})
    assert spec.spec_hash({"seed": 1}) != spec.spec_hash({"seed": 2})


def test_a_flow_list_counts_by_content_not_by_place(tmp_path: Path) -> None:
    hashes = []
    for place, start in (("one", 0), ("two", 0), ("three", 5)):
        file = tmp_path / place
        file.write_text(f"src,dst,size_bytes,start_ns\n0,2,1000,{start}\n")
        traffic = [{"kind": "flows", "file": str(file)}]
        hashes.append(spec.spec_hash(spec.resolve({**TINY_SPEC, "traffic": traffic})))
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_resolving_fills_in_defaults_and_is_idempotent() -> None:
    resolved = spec.resolve(TINY_SPEC, seed=9)
    assert resolved["seed"] == 9
    assert resolved["scheme"]["name"] == "ecmp"
    assert spec.resolve(resolved) == resolved
    assert "seed" not in TINY_SPEC


def test_the_engines_refusal_names_key_and_file(tiny: Path) -> None:
    with pytest.raises(SpecError) as caught:
        spec.resolve({**TINY_SPEC, "toplogy": {}})
    assert caught.value.key == "toplogy"
    assert "topology" in str(caught.value.hint)
    tiny.write_text(tiny.read_text().replace("[topology]", "[toplogy]"))
    with pytest.raises(SpecError) as caught:
        spec.resolve(tiny)
    assert caught.value.file == str(tiny)


def test_a_compare_table_is_no_part_of_the_spec() -> None:
    assert spec.resolve({**TINY_SPEC, "compare": {"seeds": 3}}) == spec.resolve(TINY_SPEC)


def test_a_spec_may_come_on_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its file names are relative to the current folder."""
    (tmp_path / "flows.csv").write_text("src,dst,size_bytes,start_ns\n0,4,9,0\n")
    monkeypatch.chdir(tmp_path)
    text = '[topology]\nhosts_per_leaf = 4\n[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'

    def told(content: bytes, *words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content)))
        code = main([*words, "-"])
        out, err = capsys.readouterr()
        return code, out + err

    for command in ("run", "validate"):
        code, said = told(text.encode(), command)
        assert (code, "warning" in said) == (0, False)
    assert told(b"seed = ", "run")[0] == 2
    code, said = told(text.encode() + b"[topolgy]\n", "run")
    assert (code, "topolgy" in said) == (2, True)
    assert "UTF-8" in told(b"\xff", "run")[1]
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["run", "-"]) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('name = "a"\n'.encode("utf-16"), "UTF-16 text"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b'name = "\xe4"', "byte 9 is 0xe4, which is not UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_told_for_what_it_is(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(SpecError) as caught:
        spec.load(tmp_path / "a.toml")
    assert caught.value.value == said
    assert (caught.value.hint is not None) == said.startswith("UTF-16")


@pytest.mark.parametrize(("load", "hint"), [(30, "a share: 30 % is 0.3"), (3, "a share: 3 % is 0.03"), (-1, None)])
def test_a_load_in_percent_is_told_as_a_share(load: float, hint: str | None) -> None:
    entry = {"kind": "poisson", "cdf": "web_search", "duration_us": 1, "load": load}
    with pytest.raises(SpecError) as caught:
        spec.resolve({**TINY_SPEC, "traffic": [entry]})
    assert (caught.value.key, caught.value.hint) == ("traffic[0].load", hint)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (f"seed={2**64}", f"a whole number from 0 to {2**64 - 1}"),
        (f"seed={-(2**80)}", f"a whole number from 0 to {2**64 - 1}"),
        (f"topology.leaves={10**30}", "a whole number from 1 to 4096"),
    ],
)
def test_a_number_that_is_too_long_for_any_key_is_told_its_own_range(text: str, allowed: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec.resolve(overridden({**deepcopy(TINY_SPEC)}, text))
    assert caught.value.key == text.partition("=")[0]
    assert caught.value.value.endswith(" bits")
    assert caught.value.allowed == allowed


def test_a_key_of_another_transport_is_told_with_the_variant_that_has_it() -> None:
    uet = {**TINY_SPEC, "preset": "uet-htsim", "transport": {"queue_pairs": 4}}
    with pytest.raises(SpecError) as caught:
        spec.resolve(uet)
    assert caught.value.hint == (
        'with transport.kind = "rdma" it is one; a variant may have it:'
        " NAME:transport.kind=rdma:transport.queue_pairs=4"
    )
    assert spec.resolve({**uet, "transport": {"kind": "rdma", "queue_pairs": 4}})["transport"]["kind"] == "rdma"
