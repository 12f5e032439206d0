"""Resolve a name to experiments: all, those of a paper, that of a figure, those that judge a claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.reproduction import reasons
from spinewise.reproduction.catalogue import Catalogue, load
from spinewise.reproduction.experiment import Claim, Experiment
from spinewise.reproduction.reproduce import Listed, listed, load_experiment

ALL = "all"
_PART = re.compile(r"(.*\d)[a-z]")
_COUNTED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True)
class Choice:
    """Some experiments, and how they were named.

    Attributes:
        name: what was asked for.
        folder: the folder of the papers.
        listed: the experiments as papers.toml lists them, in its order.
        experiments: the loaded experiments.
        claim: the claim that was asked for, if one was.
    """

    name: str
    folder: Path
    listed: tuple[Listed, ...]
    experiments: tuple[Experiment, ...]
    claim: str | None = None

    @property
    def alone(self) -> bool:
        """Whether one experiment was requested by its id or figure."""
        return len(self.listed) == 1 and self.name in self.listed[0].names

    @property
    def catalogue(self) -> Catalogue | None:
        """The statements of the folder's papers; None if the folder has no such list."""
        return load(self.folder)

    def wants(self, claim: Claim) -> bool:
        """Whether a claim of these experiments was requested."""
        return self.claim is None or self.claim in names_of(claim)


def choose(folder: Path, name: str) -> Choice:
    """The experiments of a folder of papers that `name` means.

    Raises:
        SpecError: it is not a paper, figure or claim, with the nearest that is; or the folder's list of what is tested
            names a check of these experiments that they do not make.
    """
    entries = listed(folder)
    found = named(folder, name, entries)
    reasons.refuse_wrong(folder, found.experiments, [entry.id for entry in entries])
    return found


def named(folder: Path, name: str, entries: Sequence[Listed]) -> Choice:
    """The entries that `name` means."""
    if name == ALL:
        return chosen(folder, name, entries)
    of_name = [entry for entry in entries if name in entry.names]
    of_paper = [entry for entry in entries if name == entry.paper]
    if of_name or of_paper:
        return chosen(folder, name, of_name or of_paper)
    loaded = [(entry, load_experiment(entry)) for entry in entries]
    judging = [
        (entry, experiment)
        for entry, experiment in loaded
        if any(name in names_of(claim) for claim in experiment.claims)
    ]
    if not judging:
        raise unknown(name, entries, [experiment for _, experiment in loaded])
    found, experiments = zip(*judging, strict=True)
    return Choice(name, folder, found, experiments, claim=name)


def chosen(folder: Path, name: str, entries: Sequence[Listed]) -> Choice:
    """These experiments with all of their claims."""
    return Choice(name, folder, tuple(entries), tuple(load_experiment(entry) for entry in entries))


def names_of(claim: Claim) -> set[str]:
    """The names by which a claim can be requested: its id, and the id without the letter of a part."""
    whole = _PART.fullmatch(claim.id)
    return {claim.id, whole[1]} if whole else {claim.id}


def claim_names(experiment: Experiment) -> list[str]:
    """The names by which the claims of an experiment can be requested, in order; parts by the name of the whole."""
    return sorted({min(names_of(claim), key=len) for claim in experiment.claims})


def spans(names: Sequence[str]) -> list[str]:
    """Names in order; of consecutive ones only the first and the last: "C2-02 to C2-14", "C2-38"."""
    found: list[list[str]] = []
    for name in names:
        if found and follows(found[-1][-1], name):
            found[-1].append(name)
        else:
            found.append([name])
    # Two adjacent names would be as short on their own.
    return [text for one in found for text in (one if len(one) < 3 else [f"{one[0]} to {one[-1]}"])]


def follows(one: str, other: str) -> bool:
    """Whether a name is the successor of another."""
    first, second = _COUNTED.fullmatch(one), _COUNTED.fullmatch(other)
    return bool(first and second and first[1] == second[1] and int(first[2]) + 1 == int(second[2]))


def unknown(name: str, entries: Sequence[Listed], experiments: Iterable[Experiment]) -> SpecError:
    """The error for a name that means nothing."""
    claims = {one for experiment in experiments for claim in experiment.claims for one in names_of(claim)}
    papers = list(dict.fromkeys(entry.paper for entry in entries))
    names = [ALL, *papers, *(one for entry in entries for one in entry.names), *sorted(claims)]
    ids = ", ".join(entry.id for entry in entries)
    kinds = f'"list", "all", a paper ({", ".join(papers)}), a claim such as "C2-21", a figure such as "meet-6a"'
    allowed = f"{kinds}, or one of {ids}"
    return SpecError("WHAT", name, allowed, nearest(name, names))
