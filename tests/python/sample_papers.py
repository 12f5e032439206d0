"""A folder of papers with two tiny experiments, which share runs, have two forms each, and draw lines over time."""

from __future__ import annotations

import textwrap
from pathlib import Path

from spinewise.reproduction.reproduce import PAPERS_FILE

PAPERS = """
[[paper]]
key = "tiny"

[[paper.experiment]]
id = "tiny-1"
figures = ["1a", "1b"]
title = "Fig. 1: reordering"
module = "tiny.fig01"
minutes = 2

[[paper.experiment]]
id = "tiny-2"
figures = ["2"]
title = "Fig. 2: reordering of two schemes"
module = "tiny.fig02"
minutes = 1

[[paper]]
key = "read-only"
"""

MEASURE = '''
"""What is measured."""

import numpy as np

from spinewise.reproduction.experiment import Timeline


def measure(run, result):
    packets = result.summary().packets
    if run.curve == "broken":
        raise ValueError("it is broken")
    found = result.summary().of("all").fct_s
    steps = np.arange(50) / 50e3
    return {
        "out_of_order": packets.out_of_order_ratio,
        "mean_fct_s": found.mean,
        "growth": Timeline(steps, steps * found.mean),
    }
'''

FIGURE = '''
"""An experiment."""

from functools import partial

from samples import TINY_SPEC
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Claim, Experiment, Panel, Run
from spinewise.specs.variants import parse

from .measure import measure

FORMS = {{"as printed": 5000, "longer": {longer}}}


def runs(effort):
    return [
        Run(name, load, seed, {{**parse(name).apply(TINY_SPEC), "traffic": [
            {{**TINY_SPEC["traffic"][0], "duration_us": long, "load": load}}]}}, form)
        for form, long in FORMS.items()
        for load in (0.3, 0.5)
        for seed in range(1, effort.choose(full=5, quick=3) + 1)
        for name in {schemes}
    ]


def soon(measured):
    return claims.combined(claims.below_limit(measured, "ecmp", "mean_fct_s", 1.0, x) for x in measured.xs)


EXPERIMENT = Experiment(
    id="tiny-{number}",
    figures={figures},
    title="Reordering",
    setup="four hosts",
    runs=runs,
    measure=measure,
    panels=tuple(
        panel
        for form in FORMS
        for panel in (
            Panel({figures}[0], "out_of_order", "reordering", "load", "%", 100.0, form),
            Panel({figures}[-1], "growth", "growth", "time (ms)", "", variant=form, timeline=True, at=0.3),
        )
    ),
    claims=(
        *claims.in_each(
            FORMS, (Claim("C9-0{number}", "{number}", "flows take less than 1 s", soon),), headline=["as printed"]
        ),
        Claim("C9-03b", "{number}", "in both forms", soon),
    ),
)
'''


def written(folder: Path, *, schemes: str = '("ecmp", "rps")') -> Path:
    """Such a folder of papers, in a new folder."""
    (folder / "tiny").mkdir(parents=True)
    (folder / PAPERS_FILE).write_text(PAPERS)
    (folder / "tiny" / "measure.py").write_text(textwrap.dedent(MEASURE))
    for number, (figures, longer) in enumerate(((("1a", "1b"), 6000), (("2",), 7000)), start=1):
        text = FIGURE.format(number=number, figures=figures, longer=longer, schemes=schemes)
        (folder / "tiny" / f"fig0{number}.py").write_text(text)
    return folder
