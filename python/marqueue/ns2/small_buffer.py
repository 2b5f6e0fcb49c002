"""Dumbbells of the small-buffer paper under ns-2's RED, with which the paper was simulated.

Eun and Wang 2008, section V. With a weight of 1, ns-2's RED uses the instantaneous queue, but it is
not the paper's marking function: beyond the upper threshold it drops every packet, marks keep a
distance (``wait_``), and none is marked while at most one packet waits.
"""

from marqueue.ns2.case import Case, Queue, red

#: Lower and upper threshold of one flow, packets, and the probability at the upper one (Table I).
SCHEMES = {"RED1": (2, 10, 0.2), "RED2": (4, 11, 0.05)}
#: Exponents of thresholds and buffer, and the buffer of one flow, packets.
A, B, BUFFER = 0.2, 0.3, 12
#: Two-way propagation delays, s: uniform in [120, 280] ms, in this number of classes.
CLASSES = 16
RTTS = [round(0.12 + 0.16 * (i + 0.5) / CLASSES, 6) for i in range(CLASSES)]
#: Capacity per flow, bit/s.
EACH = 100_000
#: Numbers of flows.
FLOWS = (50, 200, 800, 1300)


def queue(scheme: str, flows: int) -> Queue:
    """RED with the thresholds of a scheme."""
    low, high, max_p = SCHEMES[scheme]
    n = flows**A
    limit = round(BUFFER * flows**B)
    return red(limit, low * n, high * n, max_p=max_p, w_q=1.0, gentle=False, packet=500)


def dumbbell(scheme: str, flows: int) -> Case:
    """Flows of unequal round-trip times through one bottleneck."""
    rate = EACH * flows
    return Case(
        f"{scheme}, {flows} flows",
        queue(scheme, flows),
        "newreno",
        flows=flows,
        rtts=RTTS,
        rate=rate,
        delay=0.01,
        far=0.01,
        access=max(10 * rate, 1_000_000_000),
        segment=500,
        jitter=5.0,
        duration=40.0,
        edges=(15.0,),
    )


#: By scheme and number of flows.
SMALL_BUFFER = {(scheme, n): dumbbell(scheme, n) for scheme in SCHEMES for n in FLOWS}

#: Dumbbells with enough flows that a few seeds resolve a hundredth of utilization.
LARGE = [case for (_, n), case in SMALL_BUFFER.items() if n >= 800]
