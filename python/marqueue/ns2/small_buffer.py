"""Dumbbells of the small-buffer paper under ns-2's RED, with which the paper was simulated.

Eun and Wang 2008, section V. With a weight of 1, ns-2's RED uses the instantaneous queue, but it is
not the paper's marking function: beyond the upper threshold it drops every packet, marks keep a
distance (``wait_``), and none is marked while at most one packet waits.
"""

from collections.abc import Sequence

from marqueue.ns2.case import Case, Queue, red
from marqueue.ns2.drawn_rtts import drawn

#: Lower and upper threshold of one flow, packets, and the probability at the upper one (Table I).
SCHEMES = {"RED1": (2, 10, 0.2), "RED2": (4, 11, 0.05)}
#: Exponents of thresholds and buffer, and the buffer of one flow, packets.
A, B, BUFFER = 0.2, 0.3, 12
#: Two-way propagation delays, one draw for each flow.
UNIFORM = {"uniform": ["120 ms", "280 ms"]}
#: The same range as this number of classes, s.
CLASSES = 16
RTTS = [round(0.12 + 0.16 * (i + 0.5) / CLASSES, 6) for i in range(CLASSES)]
#: Capacity per flow, bit/s.
EACH = 100_000
#: Numbers of flows.
FLOWS = (50, 200, 800, 1300)


def queue(scheme: str, flows: int, weight: float = 1.0, gentle: bool = False) -> Queue:
    """RED with the thresholds of a scheme."""
    low, high, max_p = SCHEMES[scheme]
    n = flows**A
    limit = round(BUFFER * flows**B)
    return red(limit, low * n, high * n, max_p=max_p, w_q=weight, gentle=gentle, packet=500)


def dumbbell(
    scheme: str,
    flows: int,
    rtts: Sequence[float] = RTTS,
    weight: float = 1.0,
    gentle: bool = False,
) -> Case:
    """Flows of unequal round-trip times through one bottleneck."""
    rate = EACH * flows
    return Case(
        f"{scheme}, {flows} flows",
        queue(scheme, flows, weight, gentle),
        "newreno",
        flows=flows,
        rtts=rtts,
        rate=rate,
        delay=0.01,
        far=0.01,
        access=max(10 * rate, 1_000_000_000),
        segment=500,
        jitter=5.0,
        duration=40.0,
        edges=(15.0,),
    )


def uniform_dumbbell(
    scheme: str, flows: int, seed: int, weight: float = 1.0, gentle: bool = False
) -> Case:
    """The same with the draws of a seed."""
    rtts = drawn(UNIFORM, flows, f"{UNIFORM} {flows} {seed}")
    return dumbbell(scheme, flows, rtts, weight, gentle)


#: By scheme and number of flows, in classes.
SMALL_BUFFER = {(scheme, n): dumbbell(scheme, n) for scheme in SCHEMES for n in FLOWS}

#: Dumbbells with enough flows that a few seeds resolve a hundredth of utilization.
LARGE = [case for (_, n), case in SMALL_BUFFER.items() if n >= 800]
