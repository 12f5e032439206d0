"""Reasons why a repeated run came out differently."""

from __future__ import annotations

from spinewise import core
from spinewise.runs.result import Result


def why_otherwise(result: Result) -> str:
    """The possible reason, for the hint of an error; `result` is the original run."""
    made, now = result.report.get("version", "another version"), core.version()
    if made != now:
        return f"it was made by Spinewise {made}, this is {now}: run it again"
    build = "this version is another build, or the folder was changed: run it again"
    if "source" not in result.spec.get("scheme", {}):
        return build
    unlike = f"no two runs under {result.spec['scheme']['name']} are alike"
    return f"either {unlike} (take chance from cx.rng alone, keep what changes in rows alone), or {build}"
