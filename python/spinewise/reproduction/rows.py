"""Statements of papers as rows of a table: the statement, the measurement, the verdict, its readings.

Rows are made of checks from any source: runs just made, or kept evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinewise.reproduction import claims
from spinewise.reproduction.catalogue import CLAIMS_FILE, Catalogue, Origin, Statement
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Verdict
from spinewise.reproduction.verdicts import WAITING, Judged, Place, Ruling, ruling, worded

# Most lines of evidence in a row, and most readings listed one by one; the report of an experiment has all of them.
MOST_LINES = 3
MOST_READINGS = 6


@dataclass(frozen=True)
class Check(Place):
    """A check of an experiment, with its verdict if its runs exist.

    Attributes:
        statement: the checked statement, in words.
        verdict: the verdict; None while runs are missing.
    """

    statement: str
    verdict: Verdict | None

    @classmethod
    def of(cls, experiment: Experiment, claim: Claim, verdict: Verdict | None) -> Check:
        """The check for a claim of an experiment."""
        return cls(
            claim.id, experiment.id, claim.figure, claim.reading, claim.headline, claim.statement, verdict
        )  # fmt: skip

    @property
    def key(self) -> str:
        """The key that identifies it among the checks of its experiment, as `Claim.key`."""
        return f"{self.claim}, {self.reading}" if self.reading else self.claim

    @property
    def judged(self) -> Judged | None:
        """The check with its verdict, if there is one."""
        if self.verdict is None:
            return None
        return Judged(self.claim, self.experiment, self.figure, self.reading, self.headline, self.verdict)


@dataclass(frozen=True)
class Row:
    """A statement with its outcome.

    Attributes:
        statement: the statement in the catalogue.
        effort: how much was run.
        checks: all checks of it, headline readings first.
        ruling: the verdict on it; None while runs of a headline reading are missing.
    """

    statement: Statement
    effort: Effort
    checks: tuple[Check, ...]
    ruling: Ruling | None

    @property
    def word(self) -> str:
        """The verdict, in the one vocabulary."""
        return self.ruling.word if self.ruling else WAITING

    @property
    def verdict(self) -> str:
        """The verdict with those on its parts, and the outcomes of the comparisons behind each."""
        found = self.ruling
        if found is None:
            return WAITING
        words = [found.word, *beside(found)]
        for one in found.parts:
            more = "; ".join(beside(one))
            words.append(f"{one.statement.id[-1]}: {one.word}" + (f" ({more})" if more else ""))
        if found.effort is Effort.QUICK and found.statement.needs_length:
            words.append(f"a quick run says nothing: {found.statement.needs_length}")
        return "; ".join(words)

    @property
    def experiments(self) -> tuple[str, ...]:
        """Ids of the experiments that check it, those of headline readings first."""
        return tuple(dict.fromkeys(one.experiment for one in self.checks))

    @property
    def measured(self) -> list[str]:
        """The evidence of the headline readings, line by line."""
        many = sum(one.headline for one in self.checks) > 1
        return [
            f"{self.head(one)}: {line}" if many else line
            for one in self.checks
            if one.headline and one.verdict
            for line in telling(one.verdict)
        ]

    def head(self, one: Check) -> str:
        """The name of a check among several: the letter of its part, and its reading."""
        letter = one.claim[len(self.statement.id) :]
        words = [letter, one.reading if one.reading else one.experiment]
        return " ".join(word for word in words if word)

    @property
    def readings(self) -> list[str]:
        """Every reading with its outcome, by verdict if they are many; variations of an experiment are counted."""
        found = [(one, self.word_of(one)) for one in self.checks]
        if len(found) < 2:
            return []
        heads = [f"{self.place(one)}: {word}" for one, word in found if one.headline]
        judging = {one.experiment for one, _ in found if one.headline}
        beside = [(one, word) for one, word in found if not one.headline and one.experiment in judging]
        if len(beside) <= MOST_READINGS:
            lines = [f"also {self.place(one)}: {word}" for one, word in beside]
        else:
            words = dict.fromkeys(word for _, word in beside)
            named = {word: "; ".join(self.place(one) for one, its in beside if its == word) for word in words}
            lines = [f"also {word}: {places}" for word, places in named.items()]
        varied: dict[str, Counter[str]] = {}
        for one, word in found:
            if one.experiment not in judging:
                varied.setdefault(one.experiment, Counter())[word] += 1
        return heads + lines + [f"variations, {name}: {counted(counts)}" for name, counts in varied.items()]

    def place(self, one: Check) -> str:
        """The identity of a check, in words."""
        letter = one.claim[len(self.statement.id) :]
        words = [letter, one.experiment, one.reading]
        return ", ".join(word for word in words if word)

    def word_of(self, one: Check) -> str:
        """The outcome of one check, in words."""
        return worded(one.verdict.status, self.effort, self.statement) if one.verdict else WAITING


def beside(found: Ruling) -> list[str]:
    """Notes on a verdict: the bare one, its comparisons' outcomes, how lucky the best of them may be."""
    counts = "" if found.statement.up_to else tally(one.verdict for one in found.headline)
    bare = f"with it {found.bare}" if found.word != found.bare else ""
    return [text for text in (bare, counts, found.luck) if text]


def tally(verdicts: Iterable[Verdict]) -> str:
    """The number of comparisons by outcome; empty for a single one: "25 yes, 4 NO, 7 open"."""
    lines = [line for verdict in verdicts for line in verdict.evidence]
    counts = {mark: sum(line.startswith(f"{mark}: ") for line in lines) for mark in claims.MARKS.values()}
    text = ", ".join(f"{count} {mark}" for mark, count in counts.items() if count)
    return text if sum(counts.values()) > 1 else ""


def telling(verdict: Verdict) -> list[str]:
    """The lines of evidence, those first that support the verdict."""
    mark = claims.MARKS.get(verdict.status)
    return sorted(verdict.evidence, key=lambda line: not line.startswith(f"{mark}:"))


def counted(counts: Counter[str]) -> str:
    """The number of times each verdict was given, in words."""
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def rows(catalogue: Catalogue, checks: Iterable[Check], effort: Effort) -> list[Row]:
    """The statements of a catalogue that any of these checks is about, in its order.

    Raises:
        SpecError: a check names no statement.
    """
    found: dict[str, list[Check]] = {}
    for one in checks:
        found.setdefault(catalogue.whole(one.claim).id, []).append(one)
    return [row(statement, found[statement.id], effort) for statement in catalogue if statement.id in found]


def row(statement: Statement, checks: Sequence[Check], effort: Effort) -> Row:
    """A statement with its outcome."""
    judged = [one.judged for one in checks]
    known = [one for one in judged if one is not None]
    waits = any(one.headline and one.verdict is None for one in checks) or not known
    ordered = sorted(checks, key=lambda one: not one.headline)
    return Row(statement, effort, tuple(ordered), None if waits else ruling(statement, known, effort))


def catalogue_of(folder: Path, checks: Iterable[Check]) -> Catalogue:
    """A list of statements for a folder of papers that has none: each check states itself."""
    found = {
        one.claim: Statement(one.claim, "", (one.figure,), one.statement, origin=Origin.OWN) for one in checks
    }  # fmt: skip
    return Catalogue(found, folder / CLAIMS_FILE)
