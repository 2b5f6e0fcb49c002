"""Figure 8: three routers, two groups of flows with unequal round-trip times."""

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.papers.figures import PaperFigure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.small_buffer.measures import performance, performance_figures
from marqueue.papers.small_buffer.setups import (
    BUFFER,
    CURVES,
    EACH,
    A,
    access,
    aqm,
    built,
    table,
)
from marqueue.scenario import Scenario

#: Flows per group in both forms; and in the full form only, with numbers of replications.
FLOWS = (200, 400)
MORE = {800: 10, 3200: 4}
#: Smallest and largest two-way propagation delay of each group, ms, and its classes.
RTTS = {"1": (110.0, 190.0), "2": (60.0, 140.0)}
CLASSES = 8
#: One-way propagation delay from each group's first router to the destinations, ms.
INSIDE = {"1": 25.0, "2": 15.0}
#: Rate of the last router relative to router 2.
FASTER = 10
LINK = "router 2"


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def three_routers(scheme: str, flows: int, replications: int = 1) -> Scenario:
    """Three routers with ``flows`` per group; router 2 is scaled for both groups together."""
    data = table("three-routers")
    topology = data["topology"]
    one, two, three = topology["links"][:3]
    one |= {"rate": f"{EACH * flows} kbit/s", "buffer": f"{BUFFER * flows} packets"}
    two |= {"rate": f"{2 * EACH * flows} kbit/s", "aqm": aqm(CURVES[scheme], 2 * flows, A)}
    three |= {
        "rate": f"{2 * FASTER * EACH * flows} kbit/s",
        "buffer": f"{2 * BUFFER * flows} packets",
    }
    classes = [(group, i) for group in RTTS for i in range(CLASSES)]
    topology["links"] = [one, two, three, *(_access(group, i, flows) for group, i in classes)]
    topology["classes"] = [
        {"name": f"{group} {i}", "from": f"s{group} {i}", "to": "r4"} for group, i in classes
    ]
    for traffic in data["traffic"]:
        group = traffic["name"]
        traffic |= {"count": flows, "classes": [f"{group} {i}" for i in range(CLASSES)]}
    label = f"Three routers, {flows} flows a group, {scheme}"
    return built(data | {"replications": replications}, label)


def _access(group: str, i: int, flows: int) -> dict[str, Any]:
    """The access link of a class, with the rest of its delay."""
    low, high = RTTS[group]
    rtt = low + (high - low) * (i + 0.5) / CLASSES
    return {
        "name": f"{group} {i}",
        "from": f"s{group} {i}",
        "to": f"r{group}",
        "rate": access(2 * EACH * flows),
        "delay": f"{rtt / 2 - INSIDE[group]:g} ms",
    }


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows."""
    return {name(s, n): three_routers(s, n) for s in CURVES for n in FLOWS}


def full(_choice: Choice) -> Mapping[str, Scenario]:
    """More flows."""
    return {name(s, n): three_routers(s, n, r) for s in CURVES for n, r in MORE.items()}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """The four figures at router 2."""
    out: dict[str, Quantity] = {}
    for scheme in CURVES:
        names = {float(n): name(scheme, n) for n in (*FLOWS, *MORE)}
        out |= performance(runs, names, scheme, scheme, LINK)
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The four."""
    caption = "Router 2 of three; N is the number of flows a group."
    return performance_figures("Figure 8", caption, quantities, list(CURVES))


EXPERIMENT = Experiment(
    readings=(
        "As printed: capacities N C and 2 N C of routers 1 and 2, propagation uniform in [110, "
        "190] ms and [60, 140] ms (eight classes each), droptail with O(N) buffers at routers 1 "
        "and 3. Not printed, and chosen here: the factors of these buffers (12 packets a flow), "
        "the rate of router 3 (ten times that of router 2), the place of the delay (the access "
        "links, except 10 ms between routers), and the number of flows with which router 2 scales "
        "(2 N, both groups, which share it).",
        "N is 200 or more: below, the paper's curves zigzag, and it does not claim a trend.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    full=full,
)
