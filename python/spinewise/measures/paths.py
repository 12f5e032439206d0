"""How many paths a fabric has between its racks, by the links of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from spinewise.measures.report import Link


def one_path(links: Sequence[Link]) -> bool:
    """Whether there is one shortest path from every rack to every other one, so that nothing is to be chosen.

    Parallel links count as paths of their own. False where hosts have several links, or there are no two racks.
    """
    onwards: dict[str, Counter[str]] = {}
    racks: Counter[str] = Counter()
    homes: Counter[str] = Counter()
    for link in links:
        start, _, end = link["name"].partition("#")[0].partition("->")
        if link.get("fabric"):
            onwards.setdefault(start, Counter())[end] += 1
        elif end.startswith("host"):
            racks[start] += 1
            homes[end] += 1
    if any(count > 1 for count in homes.values()):
        return False
    reached = [found for rack in racks if (found := most_paths(onwards, rack, racks)) != 0]
    return bool(reached) and all(found == 1 for found in reached)


def most_paths(onwards: Mapping[str, Mapping[str, int]], start: str, racks: Mapping[str, int]) -> int:
    """The greatest number of shortest paths from a rack to another; 0 where it reaches none."""
    seen, layer, most = {start}, {start: 1}, 0
    while layer:
        after: Counter[str] = Counter()
        for switch, paths in layer.items():
            for end, count in onwards.get(switch, {}).items():
                if end not in seen:
                    after[end] += paths * count
        seen |= after.keys()
        most = max([most, *(paths for end, paths in after.items() if end in racks)])
        layer = dict(after)
    return most
