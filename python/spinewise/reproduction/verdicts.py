"""The verdict on a statement of a paper, from all its checks: the headline first, every other reading named.

The words are those of `spinewise.reproduction.experiment.Status`, and "depends on our X" if, by the catalogue,
the paper leaves a model to us. A quick effort has a direction instead.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spinewise.reproduction import claims
from spinewise.reproduction.catalogue import Statement
from spinewise.reproduction.experiment import Claim, Effort, Status, Verdict
from spinewise.reproduction.reproduce import Reproduction

# This share of comparisons at 95 % comes out certain when nothing differs.
BY_CHANCE = 0.05
# The best status of an "up to", for which one cell is enough.
BEST_FIRST = (Status.HOLDS, Status.PARTLY, Status.OPEN, Status.FAILS, Status.UNTESTED)
# The verdict on a check whose runs are not complete.
WAITING = "awaiting runs"


class Direction(enum.Enum):
    """The result of a quick effort: the direction in which its runs lean."""

    FOR = "direction: for"
    AGAINST = "direction: against"
    UNCLEAR = "direction: unclear"


LEANS = {Status.HOLDS: Direction.FOR, Status.PARTLY: Direction.FOR, Status.FAILS: Direction.AGAINST}


@dataclass(frozen=True)
class Place:
    """The place of a check in an experiment.

    Attributes:
        claim: id of the catalogue, with the letter of a part.
        experiment: id of the experiment.
        figure: the figure that it checks.
        reading: form, transport or variant; "" if there is only one.
        headline: whether it heads the verdict.
    """

    claim: str
    experiment: str
    figure: str
    reading: str
    headline: bool


@dataclass(frozen=True)
class Judged(Place):
    """One check and its outcome.

    Attributes:
        verdict: its verdict.
    """

    verdict: Verdict


@dataclass(frozen=True)
class Ruling:
    """The verdict on a statement, or on a part.

    Attributes:
        statement: the paper's statement.
        effort: how much was run.
        status: the status of the headline readings, or of all parts together.
        headline: the checks behind it; empty for a statement in parts.
        others: checks of other readings.
        parts: rulings on the parts.
    """

    statement: Statement
    effort: Effort
    status: Status
    headline: tuple[Judged, ...]
    others: tuple[Judged, ...]
    parts: tuple[Ruling, ...] = ()

    @property
    def word(self) -> str:
        """The verdict in the one vocabulary, or a direction; see `bare`."""
        if self.statement.depends_on and self.effort is not Effort.QUICK:
            return f"depends on {self.statement.depends_on}"
        return self.bare

    @property
    def bare(self) -> str:
        """The verdict regardless of what it depends on."""
        return worded(self.status, self.effort, self.statement)

    @property
    def luck(self) -> str:
        """The note on an "up to" whose best cell is certain in its experiment, but not among all; else empty."""
        alone = best(one.verdict.status for one in self.headline)
        if not self.statement.up_to or self.parts or alone is self.status:
            return ""
        return f"{alone.value} in one experiment, not as the best of the {cells_in(self.headline)} cells of all"

    @property
    def text(self) -> str:
        """The whole cell of a table: the word, its readings, and the outcomes of the other readings."""
        words = [f"**{self.word}**"]
        if self.word != self.bare:
            words.append(f"with it {self.bare}")
        words += [self.luck] if self.luck else []
        words += [f"{one.statement.id[-1]}: {one.word}" + with_it(one) for one in self.parts]
        if len(self.headline) > 1 or self.others:
            words += [self.said_of(one, "") for one in self.headline]
        words += [self.said_of(one, "also ") for one in self.others]
        if self.effort is Effort.QUICK and self.statement.needs_length:
            words.append(f"a quick run says nothing: {self.statement.needs_length}")
        return "; ".join(words)

    def said_of(self, judged: Judged, before: str) -> str:
        """One reading and its outcome."""
        return f"{before}{place(judged)}: {worded(judged.verdict.status, self.effort, self.statement)}"


def with_it(ruling: Ruling) -> str:
    """The text after "depends on"."""
    return f" (with it {ruling.bare})" if ruling.word != ruling.bare else ""


def place(judged: Judged) -> str:
    """The experiment and the reading."""
    return f"{judged.experiment}, {judged.reading}" if judged.reading else judged.experiment


def worded(status: Status, effort: Effort, statement: Statement) -> str:
    """A status in words: a direction after a quick effort, which is unclear if the length of runs decides."""
    if effort is not Effort.QUICK:
        return status.value
    return (Direction.UNCLEAR if statement.needs_length else LEANS.get(status, Direction.UNCLEAR)).value


def word(done: Reproduction, claim: Claim) -> str:
    """The verdict on one check after a reproduction; a check outside the list is its own statement."""
    if claim.key not in done.verdicts:
        return WAITING
    status = done.verdicts[claim.key].status
    known = done.catalogue.part(claim.id) if done.catalogue else Statement(claim.id, "", (), claim.statement)
    bare = worded(status, done.effort, known)
    if known.depends_on and done.effort is not Effort.QUICK:
        return f"depends on {known.depends_on} (with it {bare})"
    return bare


def ruling(statement: Statement, checks: Iterable[Judged], effort: Effort) -> Ruling:
    """The verdict on a statement, from its checks among these, of any experiments."""
    found = list(checks)
    if statement.parts:
        parts = tuple(ruling(part, found, effort) for part in statement.parts)
        return Ruling(statement, effort, of_parts(parts), (), (), parts)
    own = [one for one in found if one.claim == statement.id]
    headline = tuple(one for one in own if one.headline)
    others = tuple(one for one in own if not one.headline)
    return Ruling(statement, effort, status_of(statement, headline), headline, others)


def status_of(statement: Statement, headline: Sequence[Judged]) -> Status:
    """The status of all headline checks together; for an "up to" that of the best experiment, as one cell is enough."""
    if not statement.up_to:
        return claims.graded(one.verdict for one in headline).status
    many = cells_in(headline)
    return best(claims.best_among(many, one.verdict) for one in headline)


def cells_in(headline: Sequence[Judged]) -> int:
    """The number of cells from which an "up to" takes the best; its own check counts those of one experiment."""
    return sum(one.verdict.comparisons for one in headline)


def best(statuses: Iterable[Status]) -> Status:
    """The status of an "up to" from those of its checks."""
    found = set(statuses) or {Status.UNTESTED}
    return next(status for status in BEST_FIRST if status in found)


def of_parts(parts: Sequence[Ruling]) -> Status:
    """The status of all parts together, without those that depend on a model of ours if others do not."""
    free = [part for part in parts if not part.statement.depends_on] or parts
    return claims.graded(Verdict(part.status, ()) for part in free).status


@dataclass(frozen=True)
class Chance:
    """The possible amount of luck among many comparisons.

    Attributes:
        comparisons: differences that were tested against zero by an interval of 95 %.
    """

    comparisons: int

    @property
    def expected(self) -> float:
        """Comparisons times 5 %."""
        return BY_CHANCE * self.comparisons

    @property
    def text(self) -> str:
        """A sentence or two for a page."""
        if not self.comparisons:
            return "No difference is tested against zero by an interval, so none can come out significant by chance."
        if self.comparisons == 1:
            return (
                "1 difference is tested against zero by an interval of 95 %. If nothing differed at all, it would still"
                " come out significant one time in twenty."
            )
        about = f"{self.expected:.{0 if self.expected >= 10.0 else 1}f}"
        return (
            f"{self.comparisons:,} differences are tested against zero, each by an interval of 95 %. If nothing"
            f" differed at all, about {about} of them would still come out significant, half of those in the stated"
            " direction."
            " These are differences, not statements: a statement rests on one or many of them. Comparisons with a bound"
            " (alike, below a limit) are not among them."
        )


def chance(verdicts: Iterable[Verdict]) -> Chance:
    """Count the differences that these checks tested against zero."""
    return Chance(sum(verdict.comparisons for verdict in verdicts))
