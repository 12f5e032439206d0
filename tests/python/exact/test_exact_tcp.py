"""TCP: completion at both ends to the picosecond, and every counter, against the rules of the RFCs."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from exact.compare import Case
from exact.lines import Rules
from exact.pair import Flow
from exact.tcp import US, Options

MSS = 1460
SIZES = [1, MSS, MSS + 1, 10_000, 100_000, 1_000_000, 10_000_000]
KINDS = pytest.mark.parametrize("kind", ["newreno", "dctcp"])
ALL = {
    "newreno": Options(ecn=False, initial_window=10),
    "reno": Options(ecn=False, initial_window=10, reno=True),
    "dctcp": Options(ecn=True, initial_window=10),
    "ecn": Options(ecn=True, initial_window=10, halve=True),
    "ecn, reno": Options(ecn=True, initial_window=10, halve=True, reno=True),
}


@KINDS
@pytest.mark.parametrize("window", [1, 2, 10])
@pytest.mark.parametrize("delayed_ack", [1, 2])
@pytest.mark.parametrize(
    ("gbps", "delays_ps"),
    [
        # The window counts for long: 100 Gbps and some 160 us there and back.
        pytest.param([100, 100, 25, 100], [20_000_000, 19_999_999, 20_000_001, 20_000_000], id="long"),
        # The first line is the slowest of all, or the queue in the fabric grows; rates that do not divide.
        pytest.param([10, 3, 6, 25], [1_000_000, 2_000_003, 1_500_000, 1_000_000], id="mixed"),
        pytest.param([6, 100], [1_000_000, 1_000_000], id="rack"),
    ],
)
def test_a_lone_flow(kind: str, window: int, delayed_ack: int, gbps: list[float], delays_ps: list[int]) -> None:
    options = Options(
        ecn=kind == "dctcp",
        initial_window=window,
        delayed_ack=delayed_ack,
        delayed_ack_timeout=500 * US,
    )
    for size in SIZES:
        if size > 1_000_000 and max(delays_ps) < 10**7:
            continue  # a slow line sets the pace long before: nothing new after a megabyte
        (fate,) = Case([Flow(True, size)], gbps, delays_ps, [100, 3, 10, 25][: len(gbps)], options).check()
        assert fate.packets == -(-size // MSS)
        assert fate.retransmits == 0


def test_completion_by_hand() -> None:
    """Not even a recursion: an initial window of 1, delayed ACKs, three segments, 10 Gbps on two links."""
    data, ack, delay = 1_200_000, 32_000, 1_000_000
    there, back = 2 * (data + delay), 2 * (ack + delay)
    timeout = 40 * US
    options = Options(ecn=False, initial_window=1, delayed_ack=2, delayed_ack_timeout=timeout)
    case = Case([Flow(True, 3 * MSS)], [10, 10], [delay, delay], [10, 10], options)
    # One segment, held back until the timer; then two, of which the second is acknowledged at once.
    second = there + timeout + back
    (fate,) = case.check()
    assert fate.fct == second + data + there
    assert fate.sender_fct == fate.fct + back
    # Every segment acknowledged: the first ACK comes back sooner by the timer.
    (prompt,) = replace(case, options=replace(options, delayed_ack=1)).check()
    assert fate.fct - prompt.fct == timeout


def test_a_handshake_by_hand() -> None:
    """SYN, SYN-ACK, acknowledgement and right behind it the data: 10 Gbps and 1 us on two links."""
    data, ack, syn, delay = 1_200_000, 32_000, 46_400, 1_000_000
    options = Options(ecn=False, initial_window=2, handshake=True, syn_bytes=58)
    case = Case([Flow(True, 2 * MSS)], [10, 10], [delay, delay], [10, 10], options)
    (fate,) = case.check()
    opened = 4 * (syn + delay)
    assert fate.fct == opened + ack + 3 * data + 2 * delay
    assert fate.sender_fct == fate.fct + 2 * (ack + delay)
    # The acknowledgement of the SYN-ACK is no data packet.
    assert (fate.packets, fate.timeouts) == (2, 0)


@KINDS
@pytest.mark.parametrize("window", [1, 10])
@pytest.mark.parametrize("delayed_ack", [1, 2])
def test_a_lone_flow_with_a_handshake(kind: str, window: int, delayed_ack: int) -> None:
    """Over unlike links there and back; the handshake costs its own round trip."""
    plain = Options(ecn=kind == "dctcp", initial_window=window, delayed_ack=delayed_ack)
    for size in SIZES[:-1]:
        case = Case([Flow(True, size)], [10, 3, 6, 25], [2_000_000, 2_000_003, 1_500_000, 999_999], [25, 6, 3, 10])
        (fate,) = replace(case, options=replace(plain, handshake=True, syn_bytes=58)).check()
        (without,) = replace(case, options=plain).check()
        assert fate.fct > without.fct + 12_000_000
        assert (fate.packets, fate.timeouts) == (without.packets, 0)


def test_syns_that_time_out() -> None:
    """The answer takes 800 us: SYNs leave at 0, 100, 300 and 700 us, and one segment follows the first answer."""
    options = Options(ecn=False, initial_window=10, handshake=True, syn_timeout=100 * US, max_rto=10_000 * US)
    case = Case([Flow(True, 50_000)], [10, 10], [200_000_000] * 2, (10, 10), options)
    (fate,) = case.check()
    assert fate.timeouts == 3
    slow_start = replace(options, initial_window=1, syn_timeout=10_000 * US)
    (one_segment,) = replace(case, options=slow_start).check()
    assert fate.fct == one_segment.fct


@KINDS
@pytest.mark.parametrize("delayed_ack", [1, 2])
def test_a_queue_that_grows_without_loss(kind: str, delayed_ack: int) -> None:
    """10 Gbps into 1 Gbps, room for all of it, no marks."""
    options = Options(ecn=kind == "dctcp", initial_window=2, delayed_ack=delayed_ack)
    case = Case([Flow(True, 3_000_000)], [10, 1, 10, 10], [10_000_000] * 4, (), options)
    (fate,) = case.check()
    assert fate.retransmits == fate.marks == 0


@pytest.mark.parametrize("delayed_ack", [1, 2])
@pytest.mark.parametrize("at_dequeue", [False, True], ids=["enqueue", "dequeue"])
@pytest.mark.parametrize("in_service", [False, True], ids=["waiting", "in_service"])
@pytest.mark.parametrize("threshold", [Rules(mark_packets=20), Rules(mark_bytes=28_000)], ids=["packets", "bytes"])
def test_dctcp_at_a_marking_queue(delayed_ack: int, at_dequeue: bool, in_service: bool, threshold: Rules) -> None:
    rules = replace(threshold, mark_at_dequeue=at_dequeue, count_in_service=in_service)
    options = Options(ecn=True, initial_window=10, delayed_ack=delayed_ack, delayed_ack_timeout=300 * US)
    case = Case([Flow(True, 4_000_000)], [10, 1, 10, 10], [10_000_000] * 4, (), options, rules)
    (fate,) = case.check()
    assert fate.marks > 100, "the threshold is reached again and again"
    assert fate.retransmits == 0


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("rules", [Rules(mark_packets=20), Rules(mark_packets=5, room_packets=9)], ids=str)
def test_all_kinds_at_a_queue_that_marks_and_drops(kind: str, rules: Rules) -> None:
    fates = {}
    for name in (kind, "newreno"):
        options = replace(ALL[name], min_rto=5_000 * US, delayed_ack=2, delayed_ack_timeout=300 * US)
        case = Case([Flow(True, 3_000_000)], [10, 1, 10, 10], [10_000_000] * 4, (), options, rules)
        (fates[name],) = case.check()
    assert kind == "newreno" or rules.room_packets is None or fates[kind] != fates["newreno"]
    assert (fates[kind].marks > 0) == ALL[kind].ecn


@KINDS
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(Rules(room_packets=8), id="8 packets"),
        pytest.param(Rules(room_packets=40), id="40 packets"),
        pytest.param(Rules(room_bytes=30_000), id="30 KB"),
    ],
)
def test_losses_at_a_drop_tail_queue(kind: str, rules: Rules) -> None:
    """Fast retransmit, partial acknowledgements, and the timer."""
    options = Options(ecn=kind == "dctcp", initial_window=10, min_rto=5_000 * US)
    case = Case([Flow(True, 3_000_000)], [10, 1, 10, 10], [10_000_000] * 4, (), options, rules)
    (fate,) = case.check()
    assert fate.fast_retransmits > 0
    assert fate.retransmits > fate.fast_retransmits


def test_a_timeout_that_backs_off() -> None:
    """The first timeout comes before the first ACK can: it fires, doubles, and fires again; all were spurious."""
    options = Options(ecn=False, initial_window=10, initial_rto=100 * US, min_rto=100 * US)
    case = Case([Flow(True, 200_000)], [10, 10], [200_000_000] * 2, (10, 10), options)
    (fate,) = case.check()
    assert fate.timeouts >= 2


@KINDS
def test_flows_both_ways_share_the_nics_with_acknowledgements(kind: str) -> None:
    """Acknowledgements queue behind data at both NICs, and data behind acknowledgements."""
    options = Options(ecn=kind == "dctcp", initial_window=4, delayed_ack=2)
    flows = [Flow(True, 700_000), Flow(False, 300_000), Flow(False, 500_001, start=77_777)]
    Case(flows, [3, 10, 10, 6], [1_000_000] * 4, (6, 10, 10, 3), options).check()


RATES = [0.9, 1, 3, 6, 7, 10, 25, 100]


def drawn(seed: int) -> Case:
    """A random case: anything the recursion knows."""
    draw = random.Random(seed)
    hops = draw.choice([2, 4])
    longest = draw.choice([1000, 10**5, 10**6, 2 * 10**7])
    rules = Rules(mark_at_dequeue=draw.random() < 0.4, count_in_service=draw.random() < 0.5)
    match draw.randrange(3):
        case 0:
            rules.room_packets = draw.choice([1, 2, 3, 5, 10, 30, 100])
        case 1:
            rules.room_bytes = draw.choice([9100, 20_000, 50_000, 200_000])
    match draw.randrange(3):
        case 0:
            rules.mark_packets = draw.choice([1, 2, 5, 20, 65])
        case 1:
            rules.mark_bytes = draw.choice([1, 1500, 10_000, 90_000])
    options = Options(
        ecn=draw.random() < 0.6,
        initial_window=draw.choice([1, 2, 3, 10, 20]),
        mss=draw.choice([536, 1000, 1460, 8960]),
        header=draw.choice([40, 54]),
        delayed_ack=draw.choice([1, 1, 2, 3]),
        delayed_ack_timeout=draw.choice([0, 50 * US, 1000 * US]),
        initial_rto=draw.choice([300 * US, 1000 * US, 10_000 * US]),
        min_rto=draw.choice([10 * US, 200 * US, 10_000 * US]),
        g=draw.choice([Fraction(1, 16), Fraction(1, 4), Fraction(1)]),
        initial_alpha=draw.choice([Fraction(0), Fraction(1)]),
        max_window=draw.choice([None, None, 64, 25]),
    )
    opens = random.Random(-seed)  # its own stream: the cases stay what they were
    if opens.random() < 0.4:
        timeout = opens.choice([50 * US, 300 * US, 5000 * US])
        options = replace(options, handshake=True, syn_bytes=opens.choice([1, 58, 500]), syn_timeout=timeout)
    options = replace(options, reno=opens.random() < 0.3, halve=options.ecn and opens.random() < 0.4)
    flows = [
        Flow(draw.random() < 0.6, draw.choice([1, 1460, 20_000, 300_000]), draw.choice([0, draw.randrange(10**8)]))
        for _ in range(draw.choice([1, 1, 2, 3]))
    ]
    return Case(
        sorted(flows, key=lambda flow: (flow.start, not flow.to_right)),
        [draw.choice(RATES) for _ in range(hops)],
        [draw.randint(1, longest) for _ in range(hops)],
        [draw.choice(RATES) for _ in range(hops)],
        options,
        rules,
    )


# The last three time out at an instant that depends on when data was stamped behind acknowledgements at a NIC.
SEEDS = [*range(150), 357, 443, 632]


def test_random_cases() -> None:
    """Losses, timeouts, marks and reordering by retransmission all occur, and all numbers agree."""
    fates = [fate for seed in SEEDS for fate in drawn(seed).check()]
    for counter in ("retransmits", "timeouts", "fast_retransmits", "out_of_order", "marks"):
        assert sum(getattr(fate, counter) for fate in fates) > 50, counter
