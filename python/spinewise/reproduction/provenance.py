"""The origin of numbers: how much was run, by which engine, with which seeds, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from spinewise.reproduction.experiment import Effort

QUICK = "quick: a direction, not for conclusions"
# Characters of an engine's digest that are shown.
SHOWN = 12


@dataclass(frozen=True)
class Provenance:
    """The origin of the numbers of a report.

    Attributes:
        effort: the requested effort.
        versions: the versions of Spinewise that made the runs.
        engine: digest of the engine (hex).
        seeds: the seeds of the runs.
        days: the days on which runs ended, as dates in UTC.
        runs: how many runs there are.
        lacking: how many more were requested.
        earlier: digests of the other engines that made some of the forms; of one experiment, the latest first.
    """

    effort: Effort
    versions: tuple[str, ...]
    engine: str
    seeds: tuple[int, ...]
    days: tuple[str, ...]
    runs: int
    lacking: int = 0
    earlier: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The provenance on one line, as the head of a report."""
        if not self.runs + self.lacking:
            return f"needs no runs · engine {self.engine[:SHOWN]}"
        earlier = f", some forms {', '.join(one[:SHOWN] for one in self.earlier)}" if self.earlier else ""
        found = [
            f"effort: {QUICK if self.effort is Effort.QUICK else self.effort.value}",
            f"version {', '.join(self.versions) or 'unknown'}",
            f"engine {self.engine[:SHOWN]}" + earlier,
            f"seeds {spans(self.seeds)}",
            f"{self.runs:,} runs" + (f" of {self.runs + self.lacking:,}" if self.lacking else ""),
            f"run on {' to '.join(dict.fromkeys((self.days[0], self.days[-1])))}" if self.days else "not run",
        ]
        return " · ".join(found)

    @classmethod
    def together(cls, parts: Iterable[Provenance]) -> Provenance:
        """Combine several reports of one effort."""
        found = list(parts)
        engines = dict.fromkeys(one for part in found for one in (part.engine, *part.earlier))
        return cls(
            effort=found[0].effort,
            versions=tuple(sorted({one for part in found for one in part.versions})),
            engine=found[0].engine,
            seeds=tuple(sorted({one for part in found for one in part.seeds})),
            days=tuple(sorted({one for part in found for one in part.days})),
            runs=sum(part.runs for part in found),
            lacking=sum(part.lacking for part in found),
            earlier=tuple(one for one in engines if one != found[0].engine),
        )


def day(seconds: float) -> str:
    """The date (UTC) of an instant in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def spans(seeds: Iterable[int]) -> str:
    """Whole numbers as ranges: "1 to 5, 7"."""
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and seed == found[-1][-1] + 1:
            found[-1][1:] = [seed]
        else:
            found.append([seed])
    return ", ".join(" to ".join(map(str, span)) for span in found) or "none"
