"""The dumbbells, and the disagreements that are known."""

from collections.abc import Iterator
from dataclasses import replace

from marqueue.ns3.case import (
    CONTROLS,
    HALVING_DCTCP,
    Case,
    Control,
    Queue,
    codel,
    fq_codel,
    pfifo,
    pie,
    red,
)

SLOW = 10_000_000
FAST = 50_000_000


VARYING = {
    "cubic, pie, 4 flows, 10 Mbit/s",
    "reno, pfifo, 4 flows, 10 Mbit/s",
    "dctcp, pfifo, 4 flows, 10 Mbit/s",
    "dctcp, codel ecn, 4 flows, 10 Mbit/s",
    "dctcp, pie ecn, 4 flows, 10 Mbit/s",
    "dctcp, red ecn, 60 flows, 10 Mbit/s",
    "cubic, codel, 60 flows, 50 Mbit/s",
    "cubic, pie, 60 flows, 50 Mbit/s",
    "cubic, codel ecn, 60 flows, 50 Mbit/s",
    "dctcp, fq_codel ecn, 60 flows, 50 Mbit/s",
    "cubic, pfifo, 16 flows, 10 Mbit/s",
    "reno, pfifo, 16 flows, 10 Mbit/s",
    "cubic, red, prr, 16 flows, 10 Mbit/s",
}
"""Dumbbells of which four seeds decide nothing."""

LATE = {"cubic, pie, 1 flow, 10 Mbit/s", "cubic, red, 1 flow, 10 Mbit/s"}
"""Dumbbells in which timeouts of the start-up last for more than ten seconds in some seeds."""


def _queues(control: Control, rate: int) -> dict[str, Queue]:
    """The queues of a control by name; their buffers hold about 240 ms, that of pfifo 72 ms."""
    per_rate = rate // SLOW
    limit, short = 200 * per_rate, 60 * per_rate
    min_th, max_th = 15.0 * per_rate, 45.0 * per_rate
    if control == "dctcp":
        return {
            "pfifo": pfifo(short),
            "codel ecn": codel(limit, marks=True),
            "pie ecn": pie(limit, marks=True, derandomization=False),
            "fq_codel ecn": fq_codel(limit, marks=True),
            # Steps as in RFC 8257, section 3.1: everything is marked above a queue.
            "red ecn": red(limit, min_th - 1, min_th, marks=True, max_p=1.0, w_q=1.0, wait=False),
        }
    return {"pfifo": pfifo(short)} | {
        f"{name}{' ecn' if marks else ''}": queue
        for marks in (False, True)
        for name, queue in {
            "codel": codel(limit, marks=marks),
            "pie": pie(limit, marks=marks, derandomization=not marks),
            "fq_codel": fq_codel(limit, marks=marks),
            "red": red(limit, min_th, max_th, marks=marks),
        }.items()
    }


def _cases() -> Iterator[Case]:
    yield from _slow(4)
    yield from _slow(60)
    for control in ("cubic", "dctcp"):
        for name, queue in _queues(control, FAST).items():
            yield _case(control, name, queue, 60, FAST)
    yield from _slow(16)
    yield from _variants()
    yield from _slow(1)


def _slow(flows: int) -> Iterator[Case]:
    for control in CONTROLS:
        for name, queue in _queues(control, SLOW).items():
            yield _case(control, name, queue, flows, SLOW)


def _variants() -> Iterator[Case]:
    """Settings in which the two differ."""
    derandomized = pie(200, marks=True, derandomization=True)
    yield _case("reno", "pie ecn, derandomized", derandomized, 16, SLOW)
    for name in ("red", "codel"):
        queue = _queues("cubic", SLOW)[name]
        yield replace(_case("cubic", f"{name}, prr", queue, 16, SLOW), reduction="prr")
    for name in ("pfifo", "pie ecn"):
        queue = _queues("dctcp", SLOW)[name]
        halving = _case("dctcp", f"{name}, losses halve", queue, 4, SLOW)
        yield replace(halving, ns3_control=HALVING_DCTCP)


def _case(control: Control, name: str, queue: Queue, flows: int, rate: int) -> Case:
    several = "1 flow" if flows == 1 else f"{flows} flows"
    # Where windows are cut in every other round trip, or stay at two segments because a queue marks
    # most packets, what follows an echo is most of what happens.
    slow_and_many = (flows, rate) == (60, SLOW)
    often = (
        not slow_and_many
        if control == "dctcp"
        else slow_and_many and queue.ns3 in ("CoDelQueueDisc", "RedQueueDisc")
    )
    name = f"{control}, {name}, {several}, {rate // 1_000_000} Mbit/s"
    duration, begin = (40.0, 10.0) if rate == SLOW else (12.0, 5.0)
    if name in LATE:
        begin = 20.0
    return Case(
        name,
        control,
        queue,
        flows,
        rate,
        duration,
        begin,
        ecn_reduction="prr" if queue.marks and often else "cut",
        seeds=8 if name in VARYING else 4,
    )


MATRIX = tuple(_cases())

LOSSES = (
    "DCTCP of ns-3.44 takes the share of marks at a loss, too, where RFC 8257, section 3.5, "
    "halves the window (ns-3's issue 1012, corrected after 3.48). With that answer to losses "
    "(the cases 'losses halve') the two agree."
)
LOSSES_DROPTAIL = (
    "As under PIE, DCTCP of ns-3.44 does not halve at a loss; with halving its loss is 0.048 "
    "instead of 0.063 (16 flows) and 0.033 instead of 0.056 (60). Besides, it is a TcpLinuxReno, "
    "which counts all segments that the end of a recovery acknowledges towards the next window: 16 "
    "Reno flows under CoDel lose 0.054 so, and 0.034 with TcpNewReno."
)
DERANDOMIZED = (
    "PIE of ns-3 clears the accumulated probability at a drop and not at a mark, so that one "
    "mark follows the other; RFC 8033, section 5.4, clears it at either. Without "
    "derandomization the two agree."
)
CREDIT = (
    "In ns-3 the acknowledgement that ends a recovery opens the window for all segments that "
    "it passes, CUBIC keeps the credit that it collected while it waited on its plateau, and "
    "counts windows in whole segments. In a copy of ns-3's CUBIC without these three the "
    "figures that disagree are within the tolerances."
)

EXPLAINED = {
    "dctcp, pfifo, 4 flows, 10 Mbit/s": LOSSES,
    "dctcp, pie ecn, 4 flows, 10 Mbit/s": LOSSES,
    "dctcp, pfifo, 1 flow, 10 Mbit/s": LOSSES,
    "dctcp, pfifo, 16 flows, 10 Mbit/s": LOSSES_DROPTAIL,
    "dctcp, pie ecn, 16 flows, 10 Mbit/s": LOSSES,
    "dctcp, pfifo, 60 flows, 50 Mbit/s": LOSSES_DROPTAIL,
    "dctcp, pie ecn, 60 flows, 50 Mbit/s": LOSSES,
    "reno, pie ecn, derandomized, 16 flows, 10 Mbit/s": DERANDOMIZED,
    "cubic, codel, 1 flow, 10 Mbit/s": CREDIT,
    "cubic, codel ecn, 1 flow, 10 Mbit/s": CREDIT,
    "cubic, fq_codel, 1 flow, 10 Mbit/s": CREDIT,
    "cubic, fq_codel ecn, 1 flow, 10 Mbit/s": CREDIT,
    "cubic, pie, 16 flows, 10 Mbit/s": CREDIT,
    "cubic, fq_codel, 60 flows, 10 Mbit/s": CREDIT,
}
"""Dumbbells with a known disagreement, by name, with the reason."""

SMALL_CUBIC = (
    "Windows of two or three segments. ns-3's CUBIC is the more aggressive, and only a part "
    "of that is due to whole segments and to what it keeps of credit: without both, marks are"
    " 0.130 instead of 0.145 under FQ-CoDel, and 0.0007 instead of 0.00003 under PIE."
)
SMALL_DCTCP = (
    "Windows below two segments. DCTCP of ns-3 has no least window; here it is one segment, "
    "which waits for the timer. With two segments and half the window at a loss ns-3 is "
    "nearer under PIE (loss 0.14 instead of 0.19), and RED marks everything."
)
BURSTS = (
    "The mean queue and the marks agree, but ns-3's queue rises to 130 packets and more, ours"
    " to 70. What sends these bursts was not found."
)
ONE_ECHO = (
    "One Reno flow that CoDel keeps from filling the link. ns-3 halves what is in flight and not "
    "cwnd, and does not open the window in the round trip after: both make the window smaller, by "
    "how much was not measured apart."
)
STEPS = (
    "Only Jain's index disagrees. RED marks by steps, where a round trip more or less without "
    "growth is a large part of a cycle; that this makes the difference was not shown."
)
PHASES = (
    "Droptail, 12 flows of each round-trip time: phases decide who loses, and ns-3's phases "
    "differ by the SACK blocks in acknowledgements, which weigh nothing here. Not confirmed."
)

UNEXPLAINED = {
    "cubic, fq_codel ecn, 60 flows, 10 Mbit/s": SMALL_CUBIC,
    "cubic, pie ecn, 60 flows, 10 Mbit/s": SMALL_CUBIC,
    "cubic, red ecn, 60 flows, 10 Mbit/s": BURSTS,
    "reno, codel ecn, 1 flow, 10 Mbit/s": ONE_ECHO,
    "reno, fq_codel ecn, 1 flow, 10 Mbit/s": ONE_ECHO,
    "reno, pfifo, 60 flows, 10 Mbit/s": PHASES,
    "dctcp, pfifo, 60 flows, 10 Mbit/s": SMALL_DCTCP,
    "dctcp, codel ecn, 60 flows, 10 Mbit/s": SMALL_DCTCP,
    "dctcp, pie ecn, 60 flows, 10 Mbit/s": SMALL_DCTCP,
    "dctcp, red ecn, 60 flows, 10 Mbit/s": SMALL_DCTCP,
    "dctcp, red ecn, 60 flows, 50 Mbit/s": STEPS,
}
"""Dumbbells with a disagreement whose reason is not known, by name, with what is known."""

QUICK = (
    "cubic, codel, 4 flows, 10 Mbit/s",
    "cubic, red ecn, 4 flows, 10 Mbit/s",
    "cubic, pie ecn, 16 flows, 10 Mbit/s",
    "reno, fq_codel, 4 flows, 10 Mbit/s",
    "reno, codel, 16 flows, 10 Mbit/s",
    "reno, pie, 60 flows, 10 Mbit/s",
    "dctcp, fq_codel ecn, 4 flows, 10 Mbit/s",
    "cubic, pfifo, 60 flows, 50 Mbit/s",
)
"""Names of some dumbbells, for a quick check."""
