"""CoDel and FQ-CoDel: interval, target, and the queues of FQ-CoDel.

RFC 8289, sections 4.2, 4.3 and 4.5; RFC 8290, section 5. The interval is the largest round trip
that is no outlier. The target is 5 to 10 % of it, within this range 5 ms, below which utilization
suffers; and at least the time of two packets on the link: after one, a packet that waited only for
the one in transmission and one more would count as a standing queue (RFC 8290 asks for one). What
of this is more than 10 % of the round trip is a wait that most packets have, and the interval grows
by it (RFC 8289, section 4.3).

There are no margins: CoDel has no equilibrium to linearize around. Its state is a count of signals
and the time of the next, which grow while the sojourn time is above the target and restart when it
is below; the queue cycles, and docs/theory/buffer.md names the models that do not apply.
"""

from __future__ import annotations

import math
from typing import Any

from marqueue.design.design import Value, positive
from marqueue.design.rule_design import Parameter, RuleDesign
from marqueue.errors import ModelError

#: RFC 8289, section 4.3: the target in shares of the round trip; what is preferred within, s.
LEAST_SHARE, MOST_SHARE, PREFERRED = 0.05, 0.1, 0.005
#: Packets that the link sends within a target, at least.
PACKETS = 2
#: RFC 8290, sections 5.2.4 and 5.2.5.
QUEUES, MTU, HARDWARE_HEADER = 1024, 1500, 14
#: The share of flows that have a queue alone: that of the RFC's example, 100 flows in 1024 queues.
ALONE = 0.9

NO_MARGINS = (
    "CoDel has no equilibrium to linearize around: its signals grow in frequency while the sojourn "
    "time is above the target, and start again once it is below"
)
ASSUMPTIONS = (
    "the largest round trip is that of many packets, no outlier",
    "flows respond to signals within a round trip",
)


def design(capacity: float, flows: float, rtt: float) -> RuleDesign:
    """CoDel for at least ``flows`` flows of round trips of at most ``rtt`` (s, without queueing);
    ``capacity`` in packets/s.

    Raises :class:`ModelError` for a value that is not above zero.
    """
    times = _times(capacity, flows, rtt)
    return _of("codel", capacity, flows, rtt, times, {})


def design_fq(
    capacity: float, flows: float, rtt: float, packet: float, most_flows: float | None = None
) -> RuleDesign:
    """FQ-CoDel for ``flows`` to ``most_flows`` flows; ``packet`` is the largest packet in bytes,
    and all else as for :func:`design`."""
    positive(packet=packet)
    most = flows if most_flows is None else most_flows
    if most < flows:
        raise ModelError(f"most-flows: got {most:g}, expected at least flows: {flows:g}")
    queues = queues_for(most)
    quantum = max(MTU, math.ceil(packet)) + HARDWARE_HEADER
    more = (
        Parameter(
            "quantum",
            Value(quantum, "B"),
            "the largest packet with the header of Ethernet",
            "RFC 8290, section 5.2.4",
        ),
        Parameter(
            "queues",
            Value(queues),
            f"{alone(most, queues):.1%} of {most:g} flows have a queue alone, at least {ALONE:.0%}",
            "RFC 8290, sections 5.2.5 and 5.3",
        ),
    )
    times = _times(capacity, flows, rtt)
    table = {"queues": queues, "quantum": f"{quantum} B"}
    return _of("fq_codel", capacity, flows, rtt, (*times, *more), table)


def alone(flows: float, queues: int) -> float:
    """The probability that a flow shares its queue with none of the others.

    RFC 8290, section 5.3, prints this, .9078 for 100 flows in 1024 queues, as the probability of no
    collision; that of no collision among all of them is .007.
    """
    return float((1 - 1 / queues) ** (max(flows, 1) - 1))


def queues_for(flows: float) -> int:
    """The least power of two, from the default on, in which :data:`ALONE` of the flows are
    alone."""
    queues = QUEUES
    while alone(flows, queues) < ALONE:
        queues *= 2
    return queues


def _times(capacity: float, flows: float, rtt: float) -> tuple[Parameter, ...]:
    positive(capacity=capacity, flows=flows, rtt=rtt)
    share = min(max(PREFERRED, LEAST_SHARE * rtt), MOST_SHARE * rtt)
    sending = PACKETS / capacity
    target = max(share, sending)
    interval = rtt + max(target - MOST_SHARE * rtt, 0.0)
    slow = sending > share
    return (
        Parameter(
            "interval",
            Value(1e3 * interval, "ms"),
            "the largest round trip and what the target is above a tenth of it"
            if interval > rtt
            else "the largest round trip",
            "RFC 8289, sections 4.2 and 4.3" if interval > rtt else "RFC 8289, section 4.2",
        ),
        Parameter(
            "target",
            Value(1e3 * target, "ms"),
            f"{PACKETS} packets on the link"
            if slow
            else f"{target / interval:.3g} of the interval, 5 ms within .05 to .1 of it",
            "RFC 8290, section 5.2.2" if slow else "RFC 8289, section 4.3",
        ),
    )


def _of(
    name: str,
    capacity: float,
    flows: float,
    rtt: float,
    parameters: tuple[Parameter, ...],
    table: dict[str, Any],
) -> RuleDesign:
    times = {each.name: each.value.number for each in parameters if each.value.unit == "ms"}

    def at(factor: float) -> dict[str, Any]:
        scaled = {key: f"{factor * value / 1e3:.9f} s" for key, value in times.items()}
        return {"name": name, **scaled, **table}

    return RuleDesign(name, capacity, flows, rtt, parameters, NO_MARGINS, ASSUMPTIONS, at)
