"""The names of the nodes of a fabric, and the kinds of nodes and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from spinewise.shapes import Spec

HOST, SWITCH = "host", "switch"
_NUMBERS = re.compile(r"\d+(#\d+)?")


class Ends(NamedTuple):
    """The sending and the receiving node of a link."""

    begin: str
    end: str


def ends(link: str) -> Ends:
    """The nodes of a link by its name: "leaf0->spine3#1" leads from "leaf0" to "spine3"."""
    begin, _, end = link.partition("->")
    return Ends(begin, end.partition("#")[0])


@dataclass(frozen=True)
class Nodes:
    """The nodes of a fabric.

    Attributes:
        given: the names that a spec gives them, hosts first; empty if the engine names nodes itself.
        hosts: the number of hosts among them.
    """

    given: tuple[str, ...] = ()
    hosts: int = 0

    @classmethod
    def of(cls, spec: Spec) -> Nodes:
        """The nodes of a spec; `NUMBERED` if it gives no names."""
        topology = spec.get("topology") or {}
        names, hosts = topology.get("names"), topology.get("hosts")
        return cls(tuple(names), int(hosts)) if names and hosts else NUMBERED

    @cached_property
    def given_hosts(self) -> frozenset[str]:
        """The names of hosts."""
        return frozenset(self.given[: self.hosts])

    def host(self, number: int) -> str:
        """The name of a host: "host3", or the one it is given."""
        return self.given[number] if self.given else f"{HOST}{number}"

    def said(self, number: int) -> str:
        """A host in a sentence: "host 3", or its given name."""
        return self.given[number] if self.given else f"{HOST} {number}"

    def is_host(self, name: str) -> bool:
        """Whether the node of this name is a host."""
        return name in self.given_hosts if self.given else name.startswith(HOST)

    def leads_to_host(self, link: str) -> bool:
        """Whether the link of this name ends at a host."""
        return self.is_host(ends(link).end)

    def between_switches(self, link: str) -> bool:
        """Whether the link of this name joins two switches."""
        return not any(map(self.is_host, ends(link)))

    def tier(self, link: str) -> str:
        """The tier of a link: "leaf0->spine3#1" is of "leaf->spine"; given names only tell hosts and switches apart."""
        if not self.given:
            return _NUMBERS.sub("", link)
        return "->".join(HOST if self.is_host(end) else SWITCH for end in ends(link))


NUMBERED = Nodes()
"""The nodes of a fabric whose spec gives no names."""
