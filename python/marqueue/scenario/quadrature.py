"""A scenario with a list of round-trip times in place of their distribution, for models."""

from typing import Any

from marqueue.errors import Problem, ScenarioError
from marqueue.scenario.delays import DelayDistribution
from marqueue.scenario.model import Scenario
from marqueue.scenario.topology import Dumbbell, Graph, Star, StarClass
from marqueue.units import Duration

NODES = 16
"""Classes in place of a distribution."""


def with_classes(scenario: Scenario, nodes: int = NODES) -> Scenario:
    """The scenario with ``nodes`` classes of equally many flows in place of each distribution of
    round-trip times.

    Class i = 1, ..., n has the (i - 1/2)/n quantile: the midpoint rule in probability, whose error
    falls as 1/n^2 for a smooth quantile function. A scenario without distributions is returned as
    it is. Raises ScenarioError for a distribution on a link of a graph.
    """
    changed: dict[str, Any]
    match scenario.topology:
        case Dumbbell(rtts=DelayDistribution() as law) as dumbbell:
            one_way = dumbbell.bottleneck.delay.base + dumbbell.access.delay.base
            rtts = _midpoints(law, Duration(2 * one_way), nodes)
            changed = {"rtts": rtts}
            names = {str(law): [str(rtt) for rtt in rtts]}
        case Star() as star if any(isinstance(c.rtt, DelayDistribution) for c in star.classes):
            shared = Duration(2 * star.bottleneck.delay.base)
            split = {each.name: _split(each, shared, nodes) for each in star.classes}
            changed = {"classes": [part for each in split.values() for part in each]}
            names = {name: [part.name for part in each] for name, each in split.items()}
        case Graph() as graph if any(isinstance(e.delay, DelayDistribution) for e in graph.links):
            message = "a distribution of delays on a link, expected one delay: models have no rule"
            raise ScenarioError([Problem("topology.links", message)])
        case _:
            return scenario
    topology = scenario.topology.model_copy(update=changed)
    traffic = [
        each
        if each.classes is None
        else each.model_copy(
            update={"classes": [new for old in each.classes for new in names.get(old, [old])]}
        )
        for each in scenario.traffic
    ]
    return scenario.model_copy(update={"topology": topology, "traffic": traffic})


def _midpoints(law: DelayDistribution, shared: Duration, nodes: int) -> list[Duration]:
    """Round-trip times that stand for a distribution; each differs from the one before."""
    out: list[Duration] = []
    for i in range(nodes):
        time = round(1e9 * law.quantile((i + 0.5) / nodes, shared))
        out.append(Duration(max(time, out[-1].base + 1) if out else time))
    return out


def _split(each: StarClass, shared: Duration, nodes: int) -> list[StarClass]:
    """The classes that stand for one class."""
    if isinstance(each.rtt, Duration):
        return [each]
    times = _midpoints(each.rtt, shared, nodes)
    return [each.model_copy(update={"name": f"{each.name}, {time}", "rtt": time}) for time in times]
