"""Running the experiments of ``papers/``: find, run, draw, judge, write."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from spinewise.errors import SpecError, nearest
from spinewise.reading import SPEC_BYTES, printable, read_text
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Measurement, Run, Verdict
from spinewise.runs.jobs import Case, Monitor, resolved_case, run_all
from spinewise.runs.result import Result
from spinewise.specs.spec import Spec, parse_toml

PAPERS_FILE = "papers.toml"
PAPERS_VARIABLE = "SPINEWISE_PAPERS"


@dataclass(frozen=True)
class Listed:
    """An experiment as papers.toml lists it.

    Attributes:
        id: what ``reproduce`` calls it: ``<paper>-<figure number>``.
        paper: key of the paper.
        figures: the paper's figures it makes ("7a").
        title: what it shows.
        file: the experiment file.
    """

    id: str
    paper: str
    figures: tuple[str, ...]
    title: str
    file: Path

    @property
    def names(self) -> list[str]:
        """All names that lead here: "pdlb-7", "pdlb-7a"."""
        return [self.id, *(f"{self.paper}-{figure}" for figure in self.figures)]


def papers_folder(given: str | None = None) -> Path:
    """The folder with papers.toml: given, from the environment, above here, or the checkout's.

    Raises:
        SpecError: there is none.
    """
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[3]
    wanted = given or os.environ.get(PAPERS_VARIABLE)
    candidates = [Path(wanted)] if wanted else [*(d / "papers" for d in (here, *here.parents, checkout))]
    for folder in candidates:
        if (folder / PAPERS_FILE).is_file():
            return folder
    raise SpecError(
        "--papers",
        wanted or here,
        f"a folder with {PAPERS_FILE}",
        f"run inside a checkout of Spinewise, or set {PAPERS_VARIABLE}",
    )


def listed(folder: Path) -> list[Listed]:
    """The experiments of papers.toml, in its order."""
    path = folder / PAPERS_FILE
    try:
        content = parse_toml(read_text(path, "--papers", most=SPEC_BYTES))
        return entries_of(content, folder)
    except tomllib.TOMLDecodeError as error:
        raise SpecError("(whole file)", error, "valid TOML", file=printable(path)) from None
    except (KeyError, TypeError, AttributeError) as error:
        allowed = "[[paper]] tables with a key, each with [[paper.experiment]] tables of id, figures, title, file"
        raise SpecError("(whole file)", repr(error), allowed, file=printable(path)) from None


def entries_of(content: Spec, folder: Path) -> list[Listed]:
    """The experiments in the tables of papers.toml."""
    return [
        Listed(
            id=entry["id"],
            paper=paper["key"],
            figures=tuple(entry["figures"]),
            title=entry["title"],
            file=folder / entry["file"],
        )
        for paper in content["paper"]
        for entry in paper.get("experiment", [])
    ]


def find(folder: Path, name: str) -> Listed:
    """The experiment that makes this figure.

    Raises:
        SpecError: no experiment does.
    """
    known = listed(folder)
    for entry in known:
        if name in entry.names:
            return entry
    ids = ", ".join(entry.id for entry in known)
    names = [name for entry in known for name in entry.names]
    raise SpecError("FIGURE", name, f'"list" or one of {ids}', nearest(name, names))


def load_experiment(entry: Listed) -> Experiment:
    """Import an experiment file."""
    module_spec = importlib.util.spec_from_file_location(f"spinewise_papers_{entry.id.replace('-', '_')}", entry.file)
    if module_spec is None or module_spec.loader is None or not entry.file.is_file():
        raise SpecError("file", entry.file, "an experiment file", file=PAPERS_FILE)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    found = module.EXPERIMENT
    assert isinstance(found, Experiment)
    return found


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: measurements and verdicts."""

    experiment: Experiment
    effort: Effort
    measured: Measured
    verdicts: Mapping[str, Verdict]

    @classmethod
    def of(cls, experiment: Experiment, effort: Effort, measured: Measured) -> Reproduction:
        """With every claim judged."""
        verdicts = {claim.id: claim.check(measured) for claim in experiment.claims}
        return cls(experiment, effort, measured, verdicts)


def cases(experiment: Experiment, effort: Effort) -> list[Case[Run]]:
    """The runs of an experiment, all checked before the first one starts."""
    return [
        resolved_case(run, run.spec, run.seed, f"{run.curve} at x={run.x:g} {run.variant}".strip())
        for run in experiment.runs(effort)
    ]


def measure(experiment: Experiment, case: Case[Run], result: Result) -> Measurement:
    """What is kept of one run."""
    summary = result.summary()
    flows = summary.of("all")
    return Measurement(
        run=case.key,
        values=experiment.measure(case.key, result),
        outcome_hash=str(result.report["outcome_hash"]),
        unfinished=flows.unfinished,
        overloaded=summary.overloaded,
        flows=flows.flows,
    )


def reproduce(
    experiment: Experiment,
    effort: Effort = Effort.FULL,
    *,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> Reproduction:
    """Run an experiment and judge its claims."""
    work: Any = partial(measure, experiment)
    measurements = run_all(cases(experiment, effort), work, jobs=jobs, monitor=monitor)
    return Reproduction.of(experiment, effort, Measured(measurements))
