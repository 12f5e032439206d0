"""Run the experiments of a folder of papers: find, run, judge."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from spinewise.errors import SpecError, nearest
from spinewise.reading import SPEC_BYTES, printable, read_text
from spinewise.reproduction.catalogue import Catalogue, load
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Run, Verdict
from spinewise.reproduction.measured import measurement, reading
from spinewise.reproduction.provenance import Provenance
from spinewise.runs.jobs import Case, Monitor, resolved_case
from spinewise.specs.spec import parse_toml
from spinewise.sweeps import verdicts
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import opened
from spinewise.sweeps.sweep import sweep
from spinewise.sweeps.task import Task

PAPERS_FILE = "papers.toml"
PAPERS_VARIABLE = "SPINEWISE_PAPERS"
# The papers that come with Spinewise, and their package: imported by name, because nothing below may need it.
OWN_PAPERS, OWN_PACKAGE = Path(__file__).resolve().parents[1] / "papers", "spinewise.papers"

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Listed:
    """An experiment as listed in papers.toml.

    Attributes:
        id: its name for ``reproduce``: ``<paper>-<figure number>``.
        paper: key of the paper.
        figures: the paper's figures it reproduces ("7a").
        title: its title.
        module: the module that defines it, below the package of the folder: "pdlb.fig07".
        folder: the folder of papers.toml.
        minutes: approximate minutes of one core at full effort; shorter experiments run first.
        own: whether it is an addition of our own, which comes last.
    """

    id: str
    paper: str
    figures: tuple[str, ...]
    title: str
    module: str
    folder: Path
    minutes: float = 0.0
    own: bool = False

    @property
    def names(self) -> list[str]:
        """All names of the experiment: "pdlb-7", "pdlb-7a"."""
        return [self.id, *(f"{self.paper}-{figure}" for figure in self.figures)]


def papers_folder(given: str | None = None) -> Path:
    """The folder with papers.toml: given, from the environment, or that of Spinewise.

    Raises:
        SpecError: there is no such folder.
    """
    wanted = given or os.environ.get(PAPERS_VARIABLE)
    folder = Path(wanted) if wanted else OWN_PAPERS
    if (folder / PAPERS_FILE).is_file():
        return folder
    key = "--papers" if given else PAPERS_VARIABLE
    raise SpecError(key, folder, f"a folder with {PAPERS_FILE}", "without it, the papers of Spinewise are taken")


class Entry(TypedDict):
    """An experiment in papers.toml; `own` is true for one that no paper has."""

    id: str
    figures: list[str]
    title: str
    module: str
    minutes: NotRequired[float]
    own: NotRequired[bool]


class Paper(TypedDict):
    """A paper in papers.toml."""

    key: str
    experiment: NotRequired[list[Entry]]


def listed(folder: Path) -> list[Listed]:
    """The experiments of papers.toml, in its order."""
    path = folder / PAPERS_FILE
    try:
        content = parse_toml(read_text(path, "--papers", most=SPEC_BYTES))
        return entries_of(cast("list[Paper]", content["paper"]), folder)
    except tomllib.TOMLDecodeError as error:
        raise SpecError("(whole file)", error, "valid TOML", file=printable(path)) from None
    except (KeyError, TypeError, AttributeError) as error:
        allowed = "[[paper]] tables with a key, each with [[paper.experiment]] tables of id, figures, title, module"
        raise SpecError("(whole file)", repr(error), allowed, file=printable(path)) from None


def entries_of(papers: Iterable[Paper], folder: Path) -> list[Listed]:
    """The experiments of these papers."""
    return [
        Listed(
            id=entry["id"],
            paper=paper["key"],
            figures=tuple(entry["figures"]),
            title=entry["title"],
            module=entry["module"],
            folder=folder,
            minutes=float(entry.get("minutes", 0.0)),
            own=entry.get("own") is True,
        )
        for paper in papers
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


def package_of(folder: Path) -> str:
    """The package that the modules of a folder of papers belong to, imported.

    It is that of Spinewise, or one made for the folder and named by its path, so that no other package conflicts. Its
    modules import each other as ``from . import fabric``.
    """
    folder = folder.resolve()
    if folder == OWN_PAPERS:
        return OWN_PACKAGE
    name = f"spinewise_papers_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if name not in sys.modules:
        made = importlib.machinery.ModuleSpec(name, None, is_package=True)
        made.submodule_search_locations = [str(folder)]
        sys.modules[name] = importlib.util.module_from_spec(made)
    return name


def load_experiment(entry: Listed) -> Experiment:
    """The experiment of an entry: ``EXPERIMENT`` of its module.

    Raises:
        SpecError: there is no such module, it does not run or defines no experiment, or one of its checks names no
            statement of the folder's list.
    """
    file = printable(entry.folder / PAPERS_FILE)
    allowed = 'a module below the folder, such as "meet.fig06" for meet/fig06.py'
    if not isinstance(entry.module, str) or not _MODULE.fullmatch(entry.module):
        raise SpecError("module", entry.module, allowed, file=file)
    if not entry.folder.joinpath(*entry.module.split(".")).with_suffix(".py").is_file():
        raise SpecError("module", entry.module, allowed, "there is no such file", file=file)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(f"{package_of(entry.folder)}.{entry.module}")
    except Exception as error:
        hint = f"{type(error).__name__}: {error}"
        raise SpecError("module", entry.module, "a module that can be imported", hint, file=file) from error
    found = getattr(module, "EXPERIMENT", None)
    if not isinstance(found, Experiment):
        hint = f"its EXPERIMENT is {'missing' if found is None else type(found).__name__}"
        raise SpecError("module", entry.module, "a module that defines EXPERIMENT, an Experiment", hint, file=file)
    known = load(entry.folder)
    if known:
        for claim in found.claims:
            known.part(claim.id)
    return found


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: measurements and verdicts.

    Attributes:
        experiment: the experiment.
        effort: the effort.
        measured: the measurements of the runs.
        verdicts: by `Claim.key`; without those whose runs are incomplete.
        catalogue: the papers' statements; None for a folder of papers without a list.
        lacking: by form, how many runs are missing.
        errors: one of the runs that failed, and why.
        provenance: the origin of the runs, if known.
    """

    experiment: Experiment
    effort: Effort
    measured: Measured
    verdicts: Mapping[str, Verdict]
    catalogue: Catalogue | None = None
    lacking: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    provenance: Provenance | None = None

    @classmethod
    def of(
        cls, experiment: Experiment, effort: Effort, measured: Measured, catalogue: Catalogue | None = None
    ) -> Reproduction:
        """Judge every claim."""
        verdicts = {claim.key: claim.check(measured) for claim in experiment.claims}
        return cls(experiment, effort, measured, verdicts, catalogue)


def cases(experiment: Experiment, effort: Effort) -> list[Case[Run]]:
    """The runs of an experiment, all checked before the first one starts."""
    return resolved(experiment.runs(effort))


def resolved(runs: Sequence[Run]) -> list[Case[Run]]:
    """Runs with their specs checked."""
    return [resolved_case(run, run.spec, run.seed, f"{run.curve} at x={run.x:g} {run.variant}".strip()) for run in runs]


def tasks(experiment: Experiment, effort: Effort, runs: Sequence[Run]) -> list[Task]:
    """Runs of an experiment, with the record to keep of each."""
    return [
        Task(
            case.spec,
            (reading(experiment, case.key),),
            study=f"{experiment.id} {effort.value}",
            label={name: getattr(case.key, name) for name in ("curve", "x", "seed", "variant")},
        )
        for case in resolved(runs)
    ]


def reproduce(
    experiment: Experiment,
    effort: Effort = Effort.FULL,
    *,
    jobs: int | None = None,
    monitor: Monitor | None = None,
    store: str | Path | None = None,
    catalogue: Catalogue | None = None,
) -> Reproduction:
    """Run what the store lacks of an experiment, and judge its claims; without a store, run all of it.

    Raises:
        SpecError: the store cannot be used, or a run is refused.
    """
    runs = experiment.runs(effort)
    wanted = tasks(experiment, effort, runs)
    with opened(store) as ledger:
        swept = sweep(wanted, ledger, engine=Local(jobs), monitor=monitor, strict=True)
        measurements = [measurement(run, task, swept) for run, task in zip(runs, wanted, strict=True)]
        done = Reproduction.of(experiment, effort, Measured(measurements), catalogue)
        verdicts.keep(ledger, experiment.id, effort.value, judgements(done))
    return done


def judgements(done: Reproduction) -> list[verdicts.Judged]:
    """The verdicts in the form that a store keeps."""
    return [
        verdicts.Judged(
            claim.id, claim.reading, claim.figure, claim.statement, found.status.value, "\n".join(found.evidence)
        )
        for claim in done.experiment.claims
        if (found := done.verdicts.get(claim.key)) is not None
    ]
