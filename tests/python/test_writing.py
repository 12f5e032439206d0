"""JSON as it is written for people and programs."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinewise.writing import json_text, write_json

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_the_text_is_that_of_the_standard_library(value: object) -> None:
    assert json_text(value) == json.dumps(value, indent=2)


def test_what_json_lacks_is_refused_unless_it_can_be_turned_into_something() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"x": float("nan")})
    with pytest.raises(TypeError, match="date"):
        json_text([date(2026, 1, 2)])
    assert json.loads(json_text([date(2026, 1, 2)], default=str)) == ["2026-01-02"]


def test_a_file_ends_with_a_line_break(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "b": [\n    1\n  ]\n}\n'
