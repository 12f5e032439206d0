"""Lay overlapping intervals out in rows so that those of a row do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TypeVar

T = TypeVar("T")


def laid_out(intervals: Iterable[tuple[int, int, T]]) -> Iterator[tuple[int, int, int, T]]:
    """Assign a row to each interval (begin, end, what), and yield them in order of beginning.

    A free row is reused, the lowest first, so there are as many rows as intervals overlap at once.
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    rows = 0
    for begin, end, what in sorted(intervals, key=lambda one: one[:2]):
        while busy and busy[0][0] <= begin:
            heappush(free, heappop(busy)[1])
        if free:
            row = heappop(free)
        else:
            row, rows = rows, rows + 1
        heappush(busy, (end, row))
        yield row, begin, end, what
