"""Connection matrices of htsim: ``Nodes``, ``Connections``, then a connection a line, and triggers between them.

    Nodes 16
    Connections 2
    Triggers 1
    2->11 id 1 start 0 size 2000000 send_done_trigger 1
    2->4 id 2 trigger 1 size 2000000
    trigger id 1 oneshot

A connection starts at a time or when a trigger fires. htsim's programs read the time in different units, so the unit
must be given. A trigger is fired when a sender has all acknowledgements (``send_done_trigger``) or a receiver all data
(``recv_done_trigger``): ``oneshot`` starts all its connections the first time, ``multishot`` the next one each time,
``barrier count n`` all of them the n-th time.

Without triggers a matrix is a list of flows. With them it is a table of operations. In htsim a trigger acts at once
wherever its connections begin; here a small message carries the news there, unless it is the same host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from spinewise.errors import SpecError, nearest
from spinewise.interop.dag import Dag, Numbered, Operation
from spinewise.interop.flows import Flow, FlowList
from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, exact, read_lines, whole_ps
from spinewise.magnitudes import PS_PER_SECOND

Unit = Literal["us", "ns", "ps"]
UNITS: dict[Unit, Fraction] = {"us": Fraction(1, 10**6), "ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12)}
NOTICE_BYTES = 64
LONGEST_S = 1

HEADER = ("Nodes", "Connections", "Triggers", "Failures")
KEYS = ("id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg")
FORM = 'a connection, such as "0->5 id 1 start 0 size 2000000", "trigger id 1 oneshot" or "failure …"'
SHOTS = "oneshot, multishot or barrier count N"


@dataclass(frozen=True)
class Connection:
    """A connection as in the file.

    Attributes:
        line: its line.
        src: the host that sends.
        dst: the host that receives.
        values: the words after its keys.
    """

    line: Line
    src: int
    dst: int
    values: dict[str, str]

    def whole(self, key: str, least: int = 0) -> int | None:
        """The number after a key, None if the key is missing."""
        if key not in self.values:
            return None
        value = self.values[key]
        if not (value.isascii() and value.isdecimal() and int(value) >= least):
            raise self.line.error(key, value, f"a whole number, {least} or more")
        return int(value)


@dataclass
class Trigger:
    """A trigger.

    Attributes:
        line: its line.
        count: the number of firings before it acts; None: once for each connection (multishot).
        fired_by: operations that fire it when they end.
        starts: the connections it starts, by their place in the file.
    """

    line: Line
    count: int | None
    fired_by: list[Operation] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """A connection matrix.

    Attributes:
        file: the file it was read from.
        nodes: number of hosts.
        connections: in the order of the file.
        triggers: by their ids.
        failures: lines that list failed links.
    """

    file: str
    nodes: int
    connections: list[Connection]
    triggers: dict[int, Trigger]
    failures: list[Line]


@dataclass(frozen=True)
class Reading:
    """The settings that the file does not contain.

    Attributes:
        start_unit: the unit of starts; may be None if all are 0.
        endless_bytes: the size in place of 0, which htsim sends without end; None refuses it.
        notice_bytes: size of the message that brings a trigger's news to another host.
        longest_s: seconds before which all connections must start.
    """

    start_unit: Unit | None = None
    endless_bytes: int | None = None
    notice_bytes: int = NOTICE_BYTES
    longest_s: int = LONGEST_S


def read(path: str | Path, reading: Reading) -> FlowList | Dag:
    """Read a connection matrix: flows if no connection waits for a trigger, else operations.

    Raises:
        SpecError: with file and line: counts that do not fit the header, an unknown key, host or trigger, a trigger
            that never fires, a start without its unit, or so late that its unit is probably another.
    """
    matrix = read_matrix(path)
    starts = [start_ps(connection, reading) for connection in matrix.connections]
    check_span(matrix, starts, reading)
    sizes = [size_bytes(connection, reading) for connection in matrix.connections]
    notes = notes_of(matrix, reading)
    if all(start is not None for start in starts):
        flows = [
            Flow(x.src, x.dst, x.whole("prio") or 0, None, size, start or 0)
            for x, size, start in zip(matrix.connections, sizes, starts, strict=True)
        ]
        return FlowList(str(path), flows, notes)
    return operations(matrix, starts, sizes, reading.notice_bytes, notes)


def read_matrix(path: str | Path) -> Matrix:
    """The lines of a matrix, with the counts of its header checked."""
    lines = [line for line in read_lines(path) if not line.tokens[0].startswith("#")]
    header: dict[str, int] = {}
    while lines and lines[0].tokens[0].capitalize() in HEADER and len(lines[0].tokens) == 2:
        key = lines[0].tokens[0].capitalize()
        header[key] = lines[0].hosts(1, key) if key == "Nodes" else lines[0].whole(1, key)
        lines.pop(0)
    for needed in ("Nodes", "Connections"):
        if needed not in header:
            first = read_lines(path)[0]
            hint = looks_like(path, "htsim-cm")
            raise first.error(needed, "(nothing)", '"Nodes N" and "Connections N" before the first connection', hint)
    matrix = Matrix(str(path), header["Nodes"], [], {}, [])
    for line in lines:
        word = line.tokens[0]
        if word == "trigger":
            read_trigger(matrix, line)
        elif word == "failure":
            matrix.failures.append(line)
        elif "->" in word:
            matrix.connections.append(read_connection(matrix, line))
        else:
            raise line.error("all", " ".join(line.tokens), FORM, looks_like(path, "htsim-cm"))
    found = {"Connections": len(matrix.connections), "Triggers": len(matrix.triggers), "Failures": len(matrix.failures)}
    for key, count in found.items():
        if header.get(key, 0) != count:
            allowed = f"{count}, as many as there are"
            raise SpecError(key, header.get(key, "(nothing)"), allowed, "is the file whole?", file=matrix.file)
    if not matrix.connections:
        raise SpecError("Connections", 0, "one connection or more", file=matrix.file)
    return matrix


def read_connection(matrix: Matrix, line: Line) -> Connection:
    """One connection: its ends, then keys with their values."""
    ends = line.tokens[0].split("->")
    hosts = []
    for what, word in zip(("src", "dst"), ends, strict=False):
        if len(ends) != 2 or not (word.isascii() and word.isdecimal() and int(word) < matrix.nodes):
            raise line.error(what, line.tokens[0], f"a host from 0 to {matrix.nodes - 1} on each side of ->")
        hosts.append(int(word))
    if hosts[0] == hosts[1]:
        raise line.error("dst", hosts[1], "another host than src")
    words = line.tokens[1:]
    values: dict[str, str] = {}
    for at, key in enumerate(words[::2]):
        if key not in KEYS:
            raise line.error("all", key, ", ".join(KEYS), nearest(key, KEYS))
        if key in values or 2 * at + 1 >= len(words):
            raise line.error(key, "twice" if key in values else "(nothing)", "each key once, with its value")
        values[key] = words[2 * at + 1]
    if ("start" in values) == ("trigger" in values):
        given = "both" if "start" in values else "neither"
        raise line.error("start, trigger", given, "one of the two")
    if "size" not in values:
        raise line.error("size", "(nothing)", "a number of bytes")
    return Connection(line, hosts[0], hosts[1], values)


def read_trigger(matrix: Matrix, line: Line) -> None:
    """One trigger: ``trigger id 3 oneshot``."""
    words = line.tokens
    form = f'"trigger id N" and then {SHOTS}'
    if len(words) < 4 or words[1] != "id":
        raise line.error("all", " ".join(words), form)
    number = line.whole(2, "id")
    if number in matrix.triggers:
        raise line.error("id", number, f"each trigger once; line {matrix.triggers[number].line.number} has it")
    kind = words[3:]
    if kind == ["oneshot"]:
        count: int | None = 1
    elif kind == ["multishot"]:
        count = None
    elif kind[:2] == ["barrier", "count"] and len(kind) == 3:
        count = line.whole(5, "count", least=1)
    else:
        raise line.error("trigger", " ".join(kind), SHOTS)
    matrix.triggers[number] = Trigger(line, count)


def start_ps(connection: Connection, reading: Reading) -> int | None:
    """The start of a connection, in picoseconds; None if a trigger starts it."""
    word = connection.values.get("start")
    if word is None:
        return None
    number = exact(word)
    if number is None or number < 0:
        raise connection.line.error("start", word, "a number, 0 or more")
    if number == 0:
        return 0
    if reading.start_unit is None:
        allowed = f"us, ns or ps, since line {connection.line.number} starts at {word}"
        hint = "htsim_uec reads microseconds, other programs of htsim picoseconds"
        raise SpecError("--start-unit", "(nothing)", allowed, hint, file=connection.line.file)
    ps = whole_ps(number * UNITS[reading.start_unit])
    if ps is None:
        raise connection.line.error("start", word, "a whole number of picoseconds")
    return ps


def check_span(matrix: Matrix, starts: list[int | None], reading: Reading) -> None:
    """Refuse starts so late that their unit is probably another."""
    late = max(range(len(starts)), key=lambda at: starts[at] or 0)
    last = starts[late] or 0
    if last <= reading.longest_s * PS_PER_SECOND or reading.start_unit is None:
        return
    connection = matrix.connections[late]
    word = connection.values["start"]
    finer = [unit for unit, size in UNITS.items() if size < UNITS[reading.start_unit]]
    others = " or ".join(
        f"{float((exact(word) or 0) * UNITS[unit] * 1000):g} ms with --start-unit {unit}" for unit in finer
    )
    hint = f"is it {others}? --longest-s allows more" if others else "--longest-s allows more"
    allowed = (
        f"at most {reading.longest_s} s; with --start-unit {reading.start_unit} this is {last / PS_PER_SECOND:g} s"
    )
    raise connection.line.error("start", word, allowed, hint)


def size_bytes(connection: Connection, reading: Reading) -> int:
    """The payload."""
    size = connection.whole("size") or 0
    if size:
        return size
    if reading.endless_bytes is None:
        hint = "htsim sends a size of 0 without end; --endless-bytes N gives it an end"
        raise connection.line.error("size", 0, "1 or more", hint)
    return reading.endless_bytes


def notes_of(matrix: Matrix, reading: Reading) -> list[str]:
    """Notes about what is left out or changed."""
    found = []
    if matrix.failures:
        lines = ", ".join(str(line.number) for line in matrix.failures[:5])
        more = "" if len(matrix.failures) <= 5 else f" and {len(matrix.failures) - 5} more"
        found.append(f"{matrix.file}: failures (line {lines}{more}) are left out: give a [[fault]] for each")
    endless = sum(connection.whole("size") == 0 for connection in matrix.connections)
    if endless:
        found.append(f"{matrix.file}: {endless} connections without end get {reading.endless_bytes} bytes")
    if any("msg" in connection.values for connection in matrix.connections):
        found.append(f"{matrix.file}: each message (msg) is a flow of its own")
    triggered = any("trigger" in connection.values for connection in matrix.connections)
    if triggered and len({connection.values.get("prio") for connection in matrix.connections}) > 1:
        found.append(f"{matrix.file}: priorities (prio) are left out: operations have none")
    return found


def operations(matrix: Matrix, starts: list[int | None], sizes: list[int], notice_bytes: int, notes: list[str]) -> Dag:
    """A send and a receive for each connection, and the operations for triggers."""
    found: list[Operation] = []
    tags = Numbered()
    names: dict[str, Line] = {}
    for at, connection in enumerate(matrix.connections):
        name = f"c{connection.values['id']}" if "id" in connection.values else f"line{connection.line.number}"
        if name in names:
            raise connection.line.error("id", name[1:], f"each id once; line {names[name].number} has it")
        names[name] = connection.line
        tag = tags.tag(connection.src, connection.dst)
        send = Operation(name, connection.src, "send", connection.dst, sizes[at], tag, start_ps=starts[at] or 0)
        receive = Operation(f"{name}.got", connection.dst, "recv", connection.src, sizes[at], tag)
        found += [send, receive]
        for key, operation in (("send_done_trigger", send), ("recv_done_trigger", receive)):
            if (number := connection.whole(key)) is not None:
                trigger_of(matrix, connection, key, number).fired_by.append(operation)
        if (number := connection.whole("trigger")) is not None:
            trigger_of(matrix, connection, "trigger", number).starts.append(at)
    notices = Notices(found, tags, notice_bytes)
    for number, trigger in matrix.triggers.items():
        lower(number, trigger, notices)
    if notices.count:
        notes = [
            *notes,
            f"{matrix.file}: triggers act on other hosts, at once in htsim; here messages of {notice_bytes} bytes carry"
            f" them there, {notices.count} in all (--notice-bytes N)",
        ]
    return Dag(matrix.file, matrix.nodes, found, notes)


def trigger_of(matrix: Matrix, connection: Connection, key: str, number: int) -> Trigger:
    """The trigger of a number."""
    if number not in matrix.triggers:
        known = ", ".join(map(str, list(matrix.triggers)[:8])) or "none"
        raise connection.line.error(key, number, f"a trigger of this file: {known}", 'it needs a line "trigger id N …"')
    return matrix.triggers[number]


class Notices:
    """Operations so far, with messages that bring news to other hosts."""

    def __init__(self, found: list[Operation], tags: Numbered, size: int) -> None:
        self.found = found
        self.tags = tags
        self.size = size
        self.count = 0
        self.sent: dict[tuple[str, int], str] = {}

    def known_at(self, operation: Operation, host: int) -> str:
        """The id of an operation that ends at `host` when `operation` has: itself, or its message's receive."""
        if operation.rank == host:
            return operation.id
        key = (operation.id, host)
        if key not in self.sent:
            name = f"{operation.id}.to{host}"
            tag = self.tags.tag(operation.rank, host)
            self.found += [
                Operation(name, operation.rank, "send", host, self.size, tag, requires=[operation.id]),
                Operation(f"{name}.got", host, "recv", operation.rank, self.size, tag),
            ]
            self.sent[key] = f"{name}.got"
            self.count += 1
        return self.sent[key]


def lower(number: int, trigger: Trigger, notices: Notices) -> None:
    """Turn a trigger into operations for the connections it starts.

    It acts at one host: that of all connections that fire it, or, if these are several, that of the first it starts. A
    computation there that takes no time represents each time it acts.
    """
    if not trigger.starts:
        return
    targets = [notices.found[2 * at] for at in trigger.starts]
    shots = [trigger.count] if trigger.count else list(range(1, len(targets) + 1))
    if len(trigger.fired_by) < (most := max(shots)):
        allowed = f"a trigger that is fired {most} times: it starts {len(targets)} connections"
        raise trigger.line.error("trigger", f"{number}, which is fired {len(trigger.fired_by)} times", allowed)
    hosts = {operation.rank for operation in trigger.fired_by}
    host = hosts.pop() if len(hosts) == 1 else targets[0].rank
    known = [notices.known_at(operation, host) for operation in trigger.fired_by]
    for shot in shots:
        name = f"t{number}" if trigger.count else f"t{number}.{shot}"
        acts = Operation(name, host, "calc", duration_ps=0, requires=known, needs=shot if shot < len(known) else None)
        notices.found.append(acts)
        for target in targets if trigger.count else [targets[shot - 1]]:
            target.requires.append(notices.known_at(acts, target.rank))
