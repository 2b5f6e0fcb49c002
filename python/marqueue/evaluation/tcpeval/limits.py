"""The criteria of the suite, in one place, each with its reason.

Comparisons with standard TCP, which the draft defines as SACK TCP without ECN: Reno here, with the
same random numbers. What other suites limit too is in :mod:`marqueue.evaluation.limits`.
"""

from __future__ import annotations

from marqueue.evaluation.criterion import Beside, Criterion, Side
from marqueue.evaluation.limits import LOSES_MORE, SLOWER, WEAKER


def carries(run: str = "", measure: str = "goodput") -> Criterion:
    """As much as standard TCP."""
    return Criterion(
        measure, Side.AT_LEAST, 0.95,
        "Section 4.5, utilization: the connections are the same for both, so a control should "
        "deliver about as much as standard TCP; a twentieth is left to chance.",
        Beside.BASELINE, run,
    )  # fmt: skip


def loses_no_more(run: str = "", measure: str = "notable loss") -> Criterion:
    """At most twice the loss of standard TCP."""
    return Criterion(
        measure, Side.AT_MOST, LOSES_MORE.value,
        f"Section 4.5, packet drop rate beside standard TCP: {LOSES_MORE.because}. Less than 0.1% "
        "counts as 0.1%, so that rare losses decide nothing.",
        Beside.BASELINE, run,
    )  # fmt: skip


def queues_no_more(run: str = "", measure: str = "delay_mean") -> Criterion:
    """At most half as much queueing delay again."""
    return Criterion(
        measure, Side.AT_MOST, 1.5,
        "Section 4.5, queueing delay: half as much again as with standard TCP is plainly more.",
        Beside.BASELINE, run,
    )  # fmt: skip


def finishes(run: str = "") -> Criterion:
    """Short connections take at most a quarter longer."""
    return Criterion(
        "completion", Side.AT_MOST, SLOWER.value,
        "Section 4.5, transfer time by file size: for most connections it is what a user notices; "
        f"{SLOWER.because}.",
        Beside.BASELINE, run,
    )  # fmt: skip


def arrives(packets: int) -> Criterion:
    """A new flow has this many packets as early as under standard TCP."""
    return Criterion(
        f"delivery of {packets}", Side.AT_MOST, SLOWER.value,
        "Section 5.2: how quickly flows make room for a new one, beside flows of standard TCP; "
        f"{SLOWER.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def takes_up(share: float) -> Criterion:
    """Released capacity is used as early as under standard TCP."""
    return Criterion(
        f"window {share:.0%}", Side.AT_MOST, SLOWER.value,
        "Section 5.3: released capacity should be used about as early as by standard TCP; "
        f"{SLOWER.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def grows_gently() -> Criterion:
    """The window grows by at most half a pipe in a round trip."""
    return Criterion(
        "step", Side.AT_MOST, 0.5,
        "Section 5.3.3: a window that grows by half the pipe in a round trip may overshoot by as "
        "much, more than a buffer of half a pipe holds.",
    )  # fmt: skip


def gives_way() -> Criterion:
    """Cross traffic loses at most twice as many packets."""
    return Criterion(
        "lost cross traffic", Side.AT_MOST, LOSES_MORE.value,
        "Section 5.3.3: the harm to traffic that arrives, beside standard TCP; "
        f"{LOSES_MORE.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def steals_nothing(run: str = "") -> Criterion:
    """Standard TCP keeps nine tenths of what it has beside its own kind."""
    return Criterion(
        "goodput of A", Side.AT_LEAST, 0.9,
        "Section 6.1: L, the goodput of standard TCP beside the control over that beside its own "
        "kind. A tenth less is a clear loss.",
        Beside.BASELINE, run,
    )  # fmt: skip


def as_fair(run: str = "") -> Criterion:
    """Two flows share about as evenly as two of standard TCP."""
    return Criterion(
        "weaker over stronger", Side.AT_LEAST, WEAKER.value,
        "Section 6.2: how two flows of the control share, beside how two of standard TCP do with "
        f"the same round-trip times and buffer; {WEAKER.because}.",
        Beside.BASELINE, run,
    )  # fmt: skip


def reaches_through(run: str = "") -> Criterion:
    """Connections over three bottlenecks get about what those of standard TCP get."""
    return Criterion(
        "through over single", Side.AT_LEAST, 0.9,
        "Section 6.3: goodput over three bottlenecks beside goodput over one. A tenth less than "
        "under standard TCP is a clear harm.",
        Beside.BASELINE, run,
    )  # fmt: skip
