"""TCP from its RFCs: 5681 (Reno), 6582 (NewReno), 6298 (timer), 3168 (ECN), 8257 (DCTCP), 7661 (validation).

Bytes are numbered from 0, and a variable that names a byte holds the number of the byte after it, as SND.NXT does.
Where the RFCs leave a choice, the one the simulator documents is taken; these are marked "choice".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, inf

US = 10**6


@dataclass(frozen=True)
class Options:
    """The parameters of both ends; times in picoseconds, sizes in bytes."""

    ecn: bool
    initial_window: int
    mss: int = 1460
    header: int = 40
    ack_bytes: int = 40
    delayed_ack: int = 1
    delayed_ack_timeout: int = 1000 * US
    initial_rto: int = 10_000 * US
    min_rto: int = 10_000 * US
    max_rto: int = 60_000_000 * US
    g: Fraction = Fraction(1, 16)
    initial_alpha: Fraction = Fraction(1)
    max_window: int | None = None
    handshake: bool = False
    syn_bytes: int = 44
    syn_timeout: int = 10_000 * US
    # RFC 5681 alone: partial acknowledgements end a recovery.
    reno: bool = False
    # RFC 3168 instead of RFC 8257: a mark halves. Goes with `ecn`.
    halve: bool = False

    def spec(self) -> dict[str, object]:
        """As `[transport]`."""
        kind = ("ecn" if self.halve else "dctcp") if self.ecn else "reno" if self.reno else "newreno"
        fractions = {"dctcp_g": float(self.g), "dctcp_initial_alpha": float(self.initial_alpha)}
        return {
            "kind": kind,
            "recovery": "reno" if self.reno else "newreno",
            "mss_bytes": self.mss,
            "header_bytes": self.header,
            "ack_bytes": self.ack_bytes,
            "initial_window_segments": self.initial_window,
            "max_window_segments": self.max_window or 0,
            "delayed_ack_segments": self.delayed_ack,
            "delayed_ack_timeout_us": self.delayed_ack_timeout / US,
            "initial_rto_us": self.initial_rto / US,
            "min_rto_us": self.min_rto / US,
            "max_rto_us": self.max_rto / US,
            **(fractions if kind == "dctcp" else {}),
            "handshake": self.handshake,
            "syn_bytes": self.syn_bytes,
            "syn_timeout_us": self.syn_timeout / US,
        }


class Sender:
    """The sending end."""

    def __init__(self, options: Options, size: int) -> None:
        self.o, self.size = options, size
        self.una = self.nxt = self.high = 0  # SND.UNA, SND.NXT, and the highest SND.NXT so far
        self.cwnd = options.initial_window * options.mss
        self.ssthresh: float = inf
        self.acked_in_avoidance = 0
        self.peak = self.peak_until = 0
        self.dupacks = 0
        self.recover = 0
        self.recovering = self.partial_ack_seen = self.resend_first = False
        self.srtt = self.rttvar = 0
        self.timer: int | None = None
        self.expiries_in_a_row = 0
        self.alpha = options.initial_alpha
        self.window_end = self.window_acked = self.window_marked = 0
        self.reacted_until = 0
        self.packets = self.retransmits = self.timeouts = self.fast_retransmits = 0
        self.reduced = self.cwr = self.again = False  # to be told; told by the last segment; that was sent again

    def opened(self, rtt: int, syn_timeouts: int) -> None:
        """A handshake has gone before: its sample counts (RFC 6298), a lost SYN costs the window (RFC 5681 §3.1)."""
        self.sample(rtt)
        self.timeouts = syn_timeouts
        if syn_timeouts:
            self.cwnd = self.o.mss

    @property
    def flight(self) -> int:
        return self.nxt - self.una

    def is_done(self) -> bool:
        """Everything is acknowledged."""
        return self.una == self.size

    def wants_to_send(self) -> bool:
        """A segment goes whole or not at all (choice)."""
        length = min(self.o.mss, self.size - self.nxt)
        allowed = self.cwnd if self.o.max_window is None else min(self.cwnd, self.o.max_window * self.o.mss)
        return self.resend_first or (length > 0 and self.flight + length <= allowed)

    def send(self, now: int) -> tuple[int, int]:
        """First byte and length of the segment that goes now."""
        first = self.una if self.resend_first else self.nxt
        self.resend_first = False
        length = min(self.o.mss, self.size - first)
        self.packets += 1
        self.again = first < self.high
        self.retransmits += int(self.again)
        # RFC 3168 §6.1.2: the first new data after a reduction says so.
        self.cwr = self.reduced and not self.again
        self.reduced = self.reduced and not self.cwr
        self.nxt = max(self.nxt, first + length)
        self.high = max(self.high, self.nxt)
        # What was in flight at most in a window of data; a new peak begins a new window (as Linux measures it).
        if self.una >= self.peak_until or self.flight > self.peak:
            self.peak, self.peak_until = self.flight, self.nxt
        if self.timer is None:  # RFC 6298 (5.1)
            self.start_timer(now)
        return first, length

    # -- RFC 6298 ------------------------------------------------------------------------------------------------

    def start_timer(self, now: int) -> None:
        rto = self.o.initial_rto
        if self.srtt:
            rto = max(self.o.min_rto, self.srtt + 4 * self.rttvar)
        self.timer = now + min(self.o.max_rto, rto << self.expiries_in_a_row)

    def sample(self, rtt: int) -> None:
        """Every ACK of new data brings a sample, by its time stamp (choice); whole picoseconds (choice)."""
        if self.srtt == 0:
            self.srtt, self.rttvar = rtt, rtt // 2
        else:
            self.rttvar = (3 * self.rttvar + abs(self.srtt - rtt)) // 4
            self.srtt = (7 * self.srtt + rtt) // 8
        self.expiries_in_a_row = 0

    def timeout(self, now: int) -> None:
        if self.expiries_in_a_row == 0:
            self.ssthresh = self.half_flight()  # RFC 5681 eq. (4); held for a segment that times out again
        self.cwnd = self.o.mss
        self.note_loss()
        self.recovering = self.resend_first = False
        self.dupacks = 0
        self.nxt = self.una  # go back N (choice)
        self.timeouts += 1
        self.expiries_in_a_row += 1
        self.start_timer(now)

    # -- acknowledgements ----------------------------------------------------------------------------------------

    def acknowledge(self, now: int, ack: int, ece: bool, stamp: int) -> None:
        ece = ece and self.o.ecn
        if ack > self.una:
            self.new_data(now, ack, ece, stamp)
        elif ack == self.una and self.high > self.una:
            self.duplicate(ece)

    def new_data(self, now: int, ack: int, ece: bool, stamp: int) -> None:
        count = ack - self.una
        self.una = ack
        self.nxt = max(self.nxt, ack)
        self.dupacks = 0
        self.sample(now - stamp)
        if self.o.ecn and not self.o.halve:
            self.observe(count, ack, ece)
        restart = True
        if self.recovering and self.o.reno:  # RFC 5681 §3.2 step 6
            self.cwnd = int(self.ssthresh)
            self.recovering = self.resend_first = False
        elif self.recovering and ack >= self.recover:  # RFC 6582 step 3, full acknowledgement, option 1
            self.cwnd = min(int(self.ssthresh), max(self.flight, self.o.mss) + self.o.mss)
            self.recovering = self.resend_first = False
        elif self.recovering:  # partial; "impatient": only the first one restarts the timer (choice)
            self.resend_first = True
            self.cwnd -= count
            if count >= self.o.mss:
                self.cwnd += self.o.mss
            self.cwnd = max(self.cwnd, self.o.mss)
            restart, self.partial_ack_seen = not self.partial_ack_seen, True
        elif ece:
            self.react()
        else:
            self.open(count)
        if self.una == self.high:
            self.timer = None  # RFC 6298 (5.2)
        elif restart:
            self.start_timer(now)  # RFC 6298 (5.3)

    def open(self, count: int) -> None:
        """RFC 5681 §3.1, by bytes in congestion avoidance; not unless the window is used (RFC 7661 §4.3)."""
        mss = self.o.mss
        if self.cwnd < self.ssthresh:
            if self.cwnd < 2 * self.peak:
                self.cwnd += min(count, mss)
        elif self.peak + mss > self.cwnd:
            self.acked_in_avoidance += count
            if self.acked_in_avoidance >= self.cwnd:
                self.acked_in_avoidance -= self.cwnd
                self.cwnd += mss
        if self.o.max_window is not None:
            self.cwnd = min(self.cwnd, self.o.max_window * mss)

    def duplicate(self, ece: bool) -> None:
        self.dupacks += 1
        if self.recovering:
            self.cwnd += self.o.mss  # RFC 5681 §3.2 step 4
            return
        if ece:
            self.react()
        # RFC 6582 §3.2 step 2; before any loss `recover` lies before the first byte.
        if self.dupacks == 3 and (self.o.reno or self.recover == 0 or self.una > self.recover):
            self.ssthresh = self.half_flight()
            self.cwnd = int(self.ssthresh) + 3 * self.o.mss
            self.note_loss()
            self.recovering, self.partial_ack_seen, self.resend_first = True, False, True
            self.fast_retransmits += 1

    def half_flight(self) -> int:
        return max(self.flight // 2, 2 * self.o.mss)

    def note_loss(self) -> None:
        self.recover = self.reacted_until = self.high
        self.reduced = True
        self.acked_in_avoidance = 0

    # -- RFC 8257 §3.3 -------------------------------------------------------------------------------------------

    def observe(self, count: int, ack: int, ece: bool) -> None:
        self.window_acked += count
        self.window_marked += count if ece else 0
        if ack > self.window_end:
            fraction = Fraction(self.window_marked, self.window_acked)
            self.alpha = self.alpha * (1 - self.o.g) + self.o.g * fraction
            self.window_end = self.nxt
            self.window_acked = self.window_marked = 0

    def react(self) -> None:
        """Once for each window of data; not below two segments (choice); no growth by a marked ACK (RFC 3168)."""
        if self.una <= self.reacted_until:
            return
        floor_bytes = min(self.cwnd, 2 * self.o.mss)
        left = Fraction(1, 2) if self.o.halve else 1 - self.alpha / 2
        self.cwnd = max(floor(self.cwnd * left), floor_bytes)
        self.reduced = True
        self.ssthresh = max(self.cwnd, 2 * self.o.mss)
        self.acked_in_avoidance = 0
        self.reacted_until = self.high


@dataclass
class Reply:
    """An acknowledgement that the receiver sends now."""

    ack: int
    ece: bool
    stamp: int


@dataclass
class Receiver:
    """The receiving end: RFC 5681 §4.2 and RFC 8257 §3.2. Echoes the stamp of the last arrival (choice)."""

    options: Options
    size: int
    got: set[int] = field(default_factory=set)  # first bytes of the segments beyond the gap
    expected: int = 0
    ce: bool = False
    unanswered: int = 0
    stamp: int = 0
    timer: int | None = None
    complete_at: int | None = None
    marks: int = 0
    out_of_order: int = 0

    def data(self, now: int, first: int, length: int, marked: bool, stamp: int, *, cwr: bool) -> list[Reply]:
        """Takes a segment. All start at multiples of the MSS, so a set of first bytes tells what is here."""
        replies: list[Reply] = []
        before, gap = self.expected, bool(self.got)
        self.marks += int(marked)
        highest = min(max(self.got) + self.options.mss, self.size) if self.got else self.expected
        self.out_of_order += int(highest > first + length)  # a later byte is here already
        if first >= self.expected:
            self.got.add(first)
        while self.expected in self.got:
            self.got.discard(self.expected)
            self.expected = min(self.expected + self.options.mss, self.size)
        ordinary = first == before and not gap
        if self.expected == self.size and self.complete_at is None:
            self.complete_at, ordinary = now, False  # the last segment carries the FIN (choice)
        if self.options.halve:  # RFC 3168 §6.1.3
            self.ce = marked or (self.ce and not cwr)
        elif self.options.ecn and marked != self.ce:
            if self.unanswered:  # RFC 8257: an ACK of its own for what arrived in the old state
                replies.append(self.reply(before))
            self.ce, ordinary = marked, False
        self.stamp = stamp
        self.unanswered += 1
        if not ordinary or self.unanswered >= self.options.delayed_ack:
            replies.append(self.reply(self.expected))
        elif self.timer is None:
            self.timer = now + self.options.delayed_ack_timeout
        return replies

    def reply(self, ack: int) -> Reply:
        self.unanswered, self.timer = 0, None
        return Reply(ack, self.ce, self.stamp)
