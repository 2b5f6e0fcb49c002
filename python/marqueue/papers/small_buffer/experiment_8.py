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
    CLASSES,
    CURVES,
    EACH,
    A,
    access,
    aqm,
    built,
    middles,
    table,
)
from marqueue.scenario import Scenario

#: Flows per group in both forms; and in the full form only, with numbers of replications.
FLOWS = (200, 400)
MORE = {800: 10, 3200: 4}
#: Smallest and largest two-way propagation delay of each group, ms.
RTTS = {"1": (110.0, 190.0), "2": (60.0, 140.0)}
#: Groups of which classes of equal delay stand for one, under the reading of classes.
GROUPS = 2
#: One-way propagation delay from each group's first router to the destinations, ms.
INSIDE = {"1": 25.0, "2": 15.0}
#: Rate of the last router relative to router 2.
FASTER = 10
LINK = "router 2"


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def three_routers(scheme: str, flows: int, choice: Choice, replications: int = 1) -> Scenario:
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
    sources = [each for group in RTTS for each in _sources(group, choice)]
    rate = access(2 * EACH * flows, choice)
    topology["links"] = [one, two, three, *(link | {"rate": rate} for link in sources)]
    topology["classes"] = [
        {"name": link["name"], "from": link["from"], "to": "r4"} for link in sources
    ]
    for traffic in data["traffic"]:
        group = traffic["name"]
        traffic |= {
            "count": flows,
            "classes": [link["name"] for link in _sources(group, choice)],
        }
    label = f"Three routers, {flows} flows a group, {scheme}"
    return built(data | {"replications": replications}, label)


def _sources(group: str, choice: Choice) -> list[dict[str, Any]]:
    """The access links of a group, with the rest of its delay: a link for each flow, or one for
    each of several delays."""
    low, high = (rtt / 2 - INSIDE[group] for rtt in RTTS[group])
    classes = CLASSES[choice["rtts"]]
    if classes is None:
        delay = {"uniform": [f"{each:g} ms" for each in (low, high)]}
        return [{"name": group, "from": f"s{group}", "to": f"r{group}", "delay": delay}]
    return [
        {
            "name": f"{group} {i}",
            "from": f"s{group} {i}",
            "to": f"r{group}",
            "delay": _delay(each, choice),
        }
        for i, each in enumerate(middles(low, high, classes // GROUPS))
    ]


def _delay(delay: float, choice: Choice) -> Any:
    """One delay of a class: a link for all of its flows or, if it is slow, a link for each."""
    text = f"{delay:g} ms"
    return text if choice["access"] == "fast" else {"uniform": [text, text]}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows."""
    return {name(s, n): three_routers(s, n, choice) for s in CURVES for n in FLOWS}


def full(choice: Choice) -> Mapping[str, Scenario]:
    """More flows."""
    return {name(s, n): three_routers(s, n, choice, r) for s in CURVES for n, r in MORE.items()}


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
        "190] ms and [60, 140] ms, droptail with O(N) buffers at routers 1 "
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
