"""The base classes of a scheme written in Python: `HostScheme` or `SwitchScheme`.

The contract is that of `crates/policy`: a class declares what it is, which rows it needs, and how it picks.
Its object holds parameters and nothing else; state is in rows. Times are whole picoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from spinewise.own.fixed import fixed, refusal
from spinewise.own.params import Param

if TYPE_CHECKING:
    from spinewise._core import Cx, Header, Packet

ANY = 65_535
"""A way that leaves the choice to the fabric's own scheme."""


LEAST_TICK = 1_000
"""The shortest period, ps: a shorter one would take all the time of a run."""


def us(microseconds: float) -> int:
    """Microseconds as picoseconds, to the nearest, as parameters of the engine are read."""
    return math.floor(microseconds * 1e6 + 0.5)


@dataclass(frozen=True)
class Shape:
    """A place in the network for which a scheme is set up.

    Attributes:
        tier: "host", "leaf", "aggregation" or "spine".
        hosts: hosts in the network.
        leaves: leaves in the network.
        ports: ports of this device.
        ways: the number of rows for ways to each peer.
    """

    tier: str
    hosts: int
    leaves: int
    ports: int
    ways: int


@dataclass(frozen=True)
class Layout:
    """The needs of a scheme at a device; the defaults are those of the contract.

    Attributes:
        peers: the peers for which `Peer` and `Route` rows are kept: "hosts", "leaves", or None.
        all_peers: the rows of all peers exist from the beginning.
        slots: rows per peer if they are not for ways; 0: one per way.
        flow_idle: a `Flow` row idle for longer (ps) is forgotten; None: never.
        tick: period of `tick`, ps, 1 ns at least; 0: never; None: never, and an error for a class with a method `tick`
            if it is None at every host and switch.
        random_phase: the first tick comes after a random part of the period.
        actions: the most requests of one hook.
        bytes: the most bytes of message bodies of one hook.
        queues: held queues per port.
        free_queues: ask the oracle of `cx.view.free_queues`.
        path_rates: ask for the rate of each path.
        components: ask which paths are alike.
        picks_acks: at hosts, `pick` is called for acknowledgements too.
        draws_tags: at hosts, tags are flow labels or source ports, for switches to hash.
    """

    peers: Literal["hosts", "leaves"] | None = None
    all_peers: bool = False
    slots: int = 0
    flow_idle: int | None = None
    tick: int | None = None
    random_phase: bool = False
    actions: int = 8
    bytes: int = 0
    queues: int = 0
    free_queues: bool = False
    path_rates: bool = False
    components: bool = False
    picks_acks: bool = False
    draws_tags: bool = False

    def __post_init__(self) -> None:
        """Refuse an invalid layout."""
        if self.peers not in (None, "hosts", "leaves"):
            raise ValueError(f'Layout.peers = {self.peers!r}: allowed is None, "hosts" or "leaves"')
        most = {
            "slots": 65_535,
            "actions": 4_096,
            "bytes": 1_000_000,
            "queues": 4_096,
            "tick": 2**62,
            "flow_idle": 2**63,
        }
        for name, largest in most.items():
            value = getattr(self, name)
            fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest
            if not fits and not (name in ("flow_idle", "tick") and value is None):
                raise ValueError(f"Layout.{name} = {value!r}: allowed is a whole number from 0 to {largest}")
        if self.tick is not None and 0 < self.tick < LEAST_TICK:
            raise ValueError(f"Layout.tick = {self.tick}: allowed is 0 for never, or {LEAST_TICK} ps (1 ns) or more")


Row: TypeAlias = Any
"""A row: any object that the class of a scheme makes."""

Address: TypeAlias = tuple[str, *tuple[int, ...]]
"""The address of a message, or the key of a timer: a word and numbers."""


class To:
    """The destinations of messages and probes.

    Messages go to others who run this scheme, hosts to hosts and switches to switches; probes to one host or leaf.

    Attributes:
        rack: all other hosts of this rack (hosts only).
        neighbours: all switches next to this one (switches only).
    """

    rack: ClassVar[Address] = ("rack",)
    neighbours: ClassVar[Address] = ("neighbours",)

    @staticmethod
    def host(number: int) -> Address:
        """A host (hosts only; probes: from anywhere)."""
        return ("host", number)

    @staticmethod
    def leaf(number: int) -> Address:
        """A leaf switch, but not this one (switches only; probes: from anywhere)."""
        return ("leaf", number)

    @staticmethod
    def port(number: int) -> Address:
        """The switch behind this port, over that link; no one while it is down (switches only)."""
        return ("port", number)

    @staticmethod
    def neighbours_but(port: int) -> Address:
        """All switches next to this one but the one behind this port (switches only)."""
        return ("neighbours", port)


class Key:
    """The keys of timers, each with a number from 0 to 255.

    The hook `timer` gets such a key, a tuple: ``key == sw.Key.node(1)`` compares it, and
    ``_, peer, way, number = key`` takes that of a route apart.
    """

    @staticmethod
    def flow(flow: int, number: int = 0) -> Address:
        """The key of a flow's timer; keeps the flow's row."""
        return ("flow", flow, number)

    @staticmethod
    def route(peer: int, way: int, number: int = 0) -> Address:
        """The key of a timer for a way to a peer, by the peer's id."""
        return ("route", peer, way, number)

    @staticmethod
    def node(number: int = 0) -> Address:
        """The key of a timer of this device."""
        return ("node", number)


class Scheme:
    """The common base of `HostScheme` and `SwitchScheme`; derive from one of those.

    Class attributes say what the scheme is; all have defaults. `name`, `header`, `losses` and the makers of rows decide
    what happens in a run, and `series` is what ``cx.out.record`` fills. The others are words for people.

    Attributes:
        name: its name in specs and of its random streams [the name of the class].
        source: its publication ["own"].
        unit: the unit that moves as one: "flow", "flowlet", "flowcell" or "packet" ["packet"].
        tiers: the switch tiers at which it decides, such as ``("leaf",)``; `pick` is called at every switch that has a
            choice all the same [all].
        told: what an operator or a controller must configure for it to work as published, each in words, such as
            ``("the rates of links",)`` [nothing].
        series: its own time series, as pairs of name and meaning, such as ``(("rtt", "round trip, us"),)``;
            ``cx.out.record(0, value)`` adds to the first, which results call ``NAME.rtt`` [none].
        header: it writes the in-band header, ``header.data``, whose bytes packets carry on the wire; without it none
            can be written [False].
        losses: at hosts, `feedback` is called for retransmissions and timeouts too [False].
        in_three_tiers: its behaviour in fabrics of three tiers, such as fat-trees, in words [that every switch with a
            choice decides independently; for hosts, that a tag names a whole path].
        Flow: makes the row of a flow and direction, which hooks get as `flow`, without arguments [no rows].
        Peer: makes ``cx.peer``, the row of a host or leaf, by ``Layout(peers=…)`` [no rows].
        Route: makes ``cx.route(way)``, the row of a way to a peer, which wants ``Layout(peers=…)`` too [no rows].
        Port: makes ``cx.port(port)``, the row of a port of this device [no rows].
        Node: makes ``cx.node``, the row of this device [no rows].
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = "own"
    unit: ClassVar[Literal["flow", "flowlet", "flowcell", "packet"]] = "packet"
    tiers: ClassVar[tuple[str, ...]] = ()
    told: ClassVar[tuple[str, ...]] = ()
    series: ClassVar[tuple[tuple[str, str], ...]] = ()
    header: ClassVar[bool] = False
    losses: ClassVar[bool] = False
    in_three_tiers: ClassVar[str] = ""
    Flow: ClassVar[Callable[[], Row] | None] = None
    Peer: ClassVar[Callable[[], Row] | None] = None
    Route: ClassVar[Callable[[], Row] | None] = None
    Port: ClassVar[Callable[[], Row] | None] = None
    Node: ClassVar[Callable[[], Row] | None] = None

    _frozen = False

    def layout(self, shape: Shape) -> Layout:
        """The needs of the scheme at this place."""
        del shape
        return Layout()

    def pick(self, cx: Cx, flow: Row, packet: Packet, header: Header) -> int | None:
        """Choose the way of a packet that is about to leave this place.

        At a switch a place in ``cx.view.candidates``; at a host the path tag of the packet, or None to
        leave it to the fabric. A tag is the number of a path, below ``cx.view.ways_to_host(packet.dst)``; where
        switches hash tags (``path_tag`` "outer" or "inner") it may be any from 0 to 65534.
        """
        raise NotImplementedError

    @classmethod
    def params(cls) -> dict[str, Param]:
        """The parameters of the class, by name, in the order of their declaration, those of bases first."""
        found: dict[str, Param] = {}
        for one in reversed(cls.__mro__):
            found |= {name: value for name, value in vars(one).items() if isinstance(value, Param)}
        return {name: param for name, param in found.items() if isinstance(getattr(cls, name), Param)}

    @classmethod
    def _made(cls, values: dict[str, object]) -> Self:
        """An object with these parameters, on which nothing can be set or changed afterwards."""
        made = cls.__new__(cls)
        for name, value in values.items():
            object.__setattr__(made, name, value)
        made.__init__()  # type: ignore[misc]
        for name, value in list(vars(made).items()):
            object.__setattr__(made, name, fixed(value, f"{cls.__name__}.{name}"))
        object.__setattr__(made, "_frozen", True)
        return made

    def _layout(self, tier: str, hosts: int, leaves: int, ports: int, ways: int) -> Layout:
        """`layout`, as called by the engine."""
        layout = self.layout(Shape(tier, hosts, leaves, ports, ways))
        if not isinstance(layout, Layout):
            raise TypeError(f"layout returned {layout!r}: allowed is a spinewise.Layout")
        return layout

    def __setattr__(self, name: str, value: object) -> None:
        """State belongs in rows: an object is shared by all devices, and runs must be repeatable."""
        if self._frozen:
            raise AttributeError(refusal(f"{type(self).__name__}.{name} cannot be set"))
        object.__setattr__(self, name, value)


class HostScheme(Scheme):
    """A scheme at the sending and receiving hosts: it sees its NIC, what it was told, and what comes back."""


class SwitchScheme(Scheme):
    """A scheme at the switches: each sees its own ports."""


# `help` shows the text of a class, and not those of its bases.
_ATTRIBUTES = cleandoc(Scheme.__doc__ or "").partition("\n\n")[2]
for _base in (HostScheme, SwitchScheme):
    _base.__doc__ = f"{_base.__doc__}\n\n{_ATTRIBUTES}"
