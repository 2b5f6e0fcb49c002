"""The criteria for congestion controls, in one place, each with its reason.

RFC 9743 gives no thresholds (section 5). These are comparisons with CUBIC, the control of RFC 9438;
what other suites limit too is in :mod:`marqueue.evaluation.limits`.
"""

from __future__ import annotations

from marqueue.evaluation.criterion import Beside, Criterion, Side
from marqueue.evaluation.limits import LOSES_MORE, SLOWER, UNEVEN


def backs_off() -> Criterion:
    """A packet in a round trip under persistent loss."""
    return Criterion(
        "packets per round trip", Side.AT_MOST, 1.0,
        "Section 5.1.1: at some point a sender comes down to one packet in a round trip, and then "
        "backs off. Half of all packets are lost here.",
    )  # fmt: skip


def no_bloat() -> Criterion:
    """A standing queue of at most a round trip in a deep buffer."""
    return Criterion(
        "round trips of queue", Side.AT_MOST, 1.0,
        "Section 5.1.2: no excessive queues. A standing queue of one bandwidth-delay product is "
        "the most that a sender which halves its window needs to use the link fully. The section "
        "says that Reno and CUBIC do not address this.",
    )  # fmt: skip


def no_more_loss() -> Criterion:
    """At most twice CUBIC's loss."""
    return Criterion(
        "loss_ratio", Side.AT_MOST, LOSES_MORE.value,
        "Section 5.1.3: no excessive loss, as BBRv1's in shallow buffers, beside CUBIC's; "
        f"{LOSES_MORE.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def fair_among_themselves() -> Criterion:
    """Jain's index of 0.9 among equal flows."""
    return Criterion(
        "jain", Side.AT_LEAST, UNEVEN.value,
        f"Section 5.1.4: equal flows should share the capacity; {UNEVEN.because}. Below it one of "
        "four flows has less than half of an equal share, or the like.",
    )  # fmt: skip


def makes_room() -> Criterion:
    """A flow that comes later gets half of an equal share."""
    return Criterion(
        "late share", Side.AT_LEAST, 0.5,
        "Section 5.1.4: flows that do not start together should come to share. Half of an equal "
        "share is the least.",
    )  # fmt: skip


def short_flows_unharmed(measure: str = "completion") -> Criterion:
    """Short flows take at most a quarter longer than beside CUBIC."""
    return Criterion(
        measure, Side.AT_MOST, SLOWER.value,
        "Sections 5.1.5 and 5.2.3: short flows and long ones affect each other, here beside CUBIC "
        f"in its place; {SLOWER.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def uses_the_link(limit: float = 0.9) -> Criterion:
    """Goodput beside CUBIC's in the same place."""
    return Criterion(
        "goodput", Side.AT_LEAST, limit,
        f"A control that is no better than CUBIC in other respects should use a path about as "
        "well: "
        f"{limit:g} of its goodput.",
        Beside.BASELINE,
    )  # fmt: skip


def no_harm(measure: str) -> Criterion:
    """A standard flow keeps half of what it has beside its own kind."""
    return Criterion(
        measure, Side.AT_LEAST, 0.5,
        "Section 5.2.1: no significantly negative impact on standard flows. The baseline is the "
        "same "
        "flow beside CUBIC; half of that is significant. Equality is not asked for.",
        Beside.BASELINE,
    )  # fmt: skip


def no_starvation(measure: str) -> Criterion:
    """A standard flow keeps a tenth of an equal share."""
    return Criterion(
        measure, Side.AT_LEAST, 0.1,
        "Section 5.2: the potential for starvation must be assessed. Below a tenth of an equal "
        "share "
        "a flow is starved.",
    )  # fmt: skip


def real_time_unharmed(measure: str) -> Criterion:
    """A call beside it is disturbed at most as by CUBIC, and a quarter."""
    return Criterion(
        measure, Side.AT_MOST, 1.25,
        "Section 5.2.2: real-time flows have strict bounds of latency; they should not be worse "
        "off "
        "than beside CUBIC, with a quarter for chance.",
        Beside.BASELINE,
    )  # fmt: skip


def recovers() -> Criterion:
    """After an event the control uses what there is."""
    return Criterion(
        "goodput, after", Side.AT_LEAST, 0.8,
        "Sections 7.8 and 7.9: robust to sudden changes. In the phase after one it should have "
        "four "
        "fifths of what CUBIC has.",
        Beside.BASELINE,
    )  # fmt: skip
