"""The hosts of names in flow records: given in a file, derived from addresses, or in order of the names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import NamedTuple

from spinewise.errors import SpecError, nearest
from spinewise.interop.text import LONGEST_WORD
from spinewise.reading import TABLE_BYTES, printable, read_text

HEADER = ("name", "host")
SUFFIX = "hosts.csv"
"""The suffix of such a file, beside the flows it belongs to."""
SHOWN = 4
"""The number of hosts, or racks, that a note names."""
MOST_HOSTS = 2**32

_DIGITS = re.compile(r"(\d+)")


class Placed(NamedTuple):
    """Names and their hosts.

    Attributes:
        hosts: the number of each name.
        named: whether names are more than numbers, so that the numbers must be recorded.
        notes: how they were found.
    """

    hosts: dict[str, int]
    named: bool
    notes: list[str]


@dataclass(frozen=True)
class Placing:
    """The rule that maps names to hosts: by `told`, else by `prefix`, else each as its own number, else in order.

    Attributes:
        told: the host of each name.
        file: the file it was read from.
        prefix: the number of bits that the addresses of a rack share; None for all hosts in order.
        hosts_per_leaf: hosts of a rack, with `prefix`.
        option: by which `file` was given.
    """

    told: Mapping[str, int] | None = None
    file: str = ""
    prefix: int | None = None
    hosts_per_leaf: int = 0
    option: str = "--hosts"

    def of(self, names: Mapping[str, str], file: str) -> Placed:
        """The host of each of these names, which occur in `file`, each first at the given line.

        Raises:
            SpecError: a name is missing in `told`, or is not an address; a rack has too many hosts.
        """
        if self.told is not None:
            return Placed({name: self.host(name, self.told, names[name], file) for name in sorted(names)}, True, [])
        if self.prefix is not None:
            return self.in_racks(names, self.prefix, file)
        if all(name.isascii() and name.isdecimal() and len(name) < LONGEST_WORD for name in names):
            return Placed({name: int(name) for name in names}, False, [])
        hosts = {name: number for number, name in enumerate(sorted(names, key=by_numbers))}
        note = (
            f"{file}: hosts are numbered in the order of their names: {listed(hosts)}; a spec fills its racks in that"
            f" order, unless"
            " --rack-of or --hosts places them"
        )
        return Placed(hosts, True, [note])

    def host(self, name: str, told: Mapping[str, int], where: str, file: str) -> int:
        """The host given for a name, which occurs there in a file."""
        if name not in told:
            which = "a row" if self.option == "--hosts" else "a host"
            allowed = f"a name that has {which} in {self.file} ({self.option})"
            raise SpecError(f"{where}, host", name, allowed, nearest(name, told), file=file)
        return told[name]

    def in_racks(self, names: Iterable[str], prefix: int, file: str) -> Placed:
        """Hosts rack by rack: a rack for each prefix, in the order of addresses."""
        nets = {name: network(name, prefix, file) for name in names}
        order = sorted(set(nets.values()), key=lambda net: (net.version, int(net.network_address)))
        racks = {net: number for number, net in enumerate(order)}
        hosts: dict[str, int] = {}
        filled: Counter[int] = Counter()
        for name in sorted(names, key=by_numbers):
            rack = racks[nets[name]]
            hosts[name] = rack * self.hosts_per_leaf + filled[rack]
            filled[rack] += 1
        rack, most = filled.most_common(1)[0]
        if most > self.hosts_per_leaf:
            raise SpecError("--hosts-per-leaf", self.hosts_per_leaf, f"{most} or more: {order[rack]} has {most} hosts")
        numbers = {str(net): number for net, number in racks.items()}
        return Placed(hosts, True, [f"{file}: racks are numbered in the order of addresses: {listed(numbers)}"])


def network(name: str, prefix: int, file: str) -> IPv4Network | IPv6Network:
    """The addresses whose first bits are those of this one."""
    try:
        return ip_network(f"{name}/{prefix}", strict=False)
    except ValueError:
        allowed = f"with --rack-of /{prefix} an IPv4 or IPv6 address of at least that many bits"
        raise SpecError("src, dst", name, allowed, "--hosts FILE places other names", file=file) from None


def by_numbers(name: str) -> list[tuple[bool, int, str]]:
    """The sort key of names: numbers in them by value."""
    return [
        (not part.isdecimal(), int(part[:LONGEST_WORD]) if part.isdecimal() else 0, part)
        for part in _DIGITS.split(name)
    ]


def listed(numbers: Mapping[str, int]) -> str:
    """The first few names with their numbers, and the last."""
    found = [f"{name} is {number}" for name, number in numbers.items()]
    return ", ".join(found[:SHOWN]) + (f", … {found[-1]}" if len(found) > SHOWN else "")


def read_hosts(path: str | Path) -> Placing:
    """Names and hosts from a CSV file with the columns ``name`` and ``host``.

    Raises:
        SpecError: with file and line: another header, a value that is not a host number, or a repeated name or host.
    """
    file = printable(path)
    reader = csv.reader(StringIO(read_text(path, "--hosts", most=TABLE_BYTES)), skipinitialspace=True)
    rows = [(reader.line_num, [word.strip() for word in row]) for row in reader if row and not row[0].startswith("#")]
    if not rows or tuple(rows[0][1]) != HEADER:
        given = ",".join(rows[0][1]) if rows else "(nothing)"
        raise SpecError("line 1", given, f"the header {','.join(HEADER)}, and a row for each host", file=file)
    told: dict[str, int] = {}
    names: dict[int, str] = {}
    for line, row in rows[1:]:
        name, number = row if len(row) == len(HEADER) else ("", "")
        if not name or not (number.isascii() and number.isdecimal() and int(number[:LONGEST_WORD]) < MOST_HOSTS):
            raise SpecError(f"line {line}", ",".join(row), "a name, and the number of its host from 0 on", file=file)
        host = int(number)
        if name in told or host in names:
            again = name if name in told else f"{host}, which is {names[host]}"
            raise SpecError(f"line {line}", again, "each name and each host once", file=file)
        told[name], names[host] = host, name
    return Placing(told, file)


def text(hosts: Mapping[str, int]) -> str:
    """Names and hosts as `read_hosts` reads them, by host."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for name in sorted(hosts, key=hosts.__getitem__):
        writer.writerow((name, hosts[name]))
    return out.getvalue()
