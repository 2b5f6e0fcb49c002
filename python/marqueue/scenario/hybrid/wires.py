"""The plan in which a model stands for the queues of links that are no bottlenecks.

Where a route crosses such links one after the other, a wire of this route stands for them. Its rate
is that of the slowest, so that a burst leaves it as spread out as it would leave them. Its delay is
their propagation delay, the transmission times at the others, and the mean wait at each. It loses
and marks nothing. The wires are the route's own because packets of different routes then need no
common order: behind a queue, a wire that only one route enters costs no event.

Right before a bottleneck that does harm if many flows come over one link. Their packets follow each
other there and do not meet at the bottleneck, so they are dropped less often than those that come
over other links. On wires of their own they would be dropped as often. Therefore such a link is not
modelled if it is busy enough.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from marqueue.scenario.hybrid.bundles import ANSWER, NS, Bundles
from marqueue.scenario.hybrid.prediction import Prediction, phases, predict
from marqueue.scenario.hybrid.progressive_filling import Array
from marqueue.scenario.parameters import aqms

Plan = dict[str, Any]

MOST_PHASES = 64
"""Sets of groups that are active together; the rates are predicted for each."""

HOST = -1
"""What comes before the first link of a route."""


class TooManyPhases(ValueError):
    """The traffic starts and stops at more times than can be predicted; the argument is the number
    of sets of groups that are active together."""


def with_models(plan: Plan, bottleneck_from: float, upstream_from: float) -> Plan:
    """The plan with wires for all links that are no bottlenecks, nor right before one and busy.

    ``bottleneck_from`` and ``upstream_from`` are the predicted utilizations from which a link is
    one or the other, in (0, 1]. The links keep their indices, and the wires follow them. Raises
    TooManyPhases.
    """
    routes = [(each["forward"], each["reverse"]) for each in plan["routes"]]
    bundles = Bundles.of(plan, routes)
    if (number := len(phases(plan, bundles))) > MOST_PHASES:
        raise TooManyPhases(number)
    found = predict(plan, bundles)
    bottlenecks = found.utilization >= bottleneck_from
    upstream = _before(routes, bottlenecks) & (found.utilization >= upstream_from)
    modelled = ~bottlenecks & ~upstream & _can_be_modelled(plan["links"])
    wires = _Wires(plan["links"], found, modelled)
    packets = _packets(bundles, len(routes))
    crossed = [
        wires.ways(forward, reverse, packet)
        for (forward, reverse), packet in zip(routes, packets, strict=True)
    ]
    links = [
        _without_queue(link, found, i) if modelled[i] else link
        for i, link in enumerate(plan["links"])
    ]
    return {
        **plan,
        "links": links + wires.made,
        "routes": [{"forward": there, "reverse": back} for there, back in crossed],
    }


def _can_be_modelled(links: Sequence[Mapping[str, Any]]) -> Array:
    """Whether each link has nothing but a rate, a delay and perhaps a queue. What is recorded,
    varies, is impaired or has a link for each flow is simulated, and so are queues that write
    prices, which senders need from every link."""
    special = ("schedule", "delivery_opportunities", "medium", "pipe", "per_flow", "cpu", "trace")
    speak = {name for name, aqm in aqms().items() if aqm.prices}
    return np.array(
        [
            not any(link.get(key) for key in special)
            and not (link["queue"] and link["queue"]["policy"]["name"] in speak)
            for link in links
        ],
        dtype=bool,
    )


def _before(routes: Sequence[tuple[Sequence[int], Sequence[int]]], links: Array) -> Array:
    """Whether each link comes right before one of these links on a route: masks of the shape
    [links]."""
    ways = ((HOST, *forward, HOST, *reverse) for forward, reverse in routes)
    steps = np.fromiter(chain.from_iterable(ways), int)
    first, second = steps[:-1], steps[1:]
    before = np.zeros(len(links), dtype=bool)
    before[first[(first != HOST) & (second != HOST) & links[second]]] = True
    return before


def _packets(bundles: Bundles, routes: int) -> list[float]:
    """The size of data packets on each route, bytes: the largest, if groups differ."""
    largest = np.zeros(routes)
    np.maximum.at(largest, bundles.column("route"), bundles.column("packet"))
    sizes: list[float] = np.where(largest > 0, largest, ANSWER).tolist()
    return sizes


def _without_queue(link: Mapping[str, Any], found: Prediction, i: int) -> Plan:
    """A link that no packet enters."""
    said = {"utilization": float(found.utilization[i]), "wait": round(found.wait[i] * NS)}
    return {**link, "queue": None, "model": {"link": said}}


class _Wires:
    """The wires that stand for links."""

    def __init__(
        self, links: Sequence[Mapping[str, Any]], found: Prediction, modelled: Array
    ) -> None:
        self.made: list[Plan] = []
        self._number = len(links)
        self._rates = [link["rate"] for link in links]
        waits = np.where(modelled, found.wait, 0.0) * NS
        self._delays = (np.array([link["delay"] for link in links]) + waits).tolist()
        self._modelled = modelled.tolist()
        self._known: dict[tuple[int, float, tuple[int, ...]], int] = {}

    def ways(
        self, forward: Sequence[int], reverse: Sequence[int], packet: float
    ) -> tuple[list[int], list[int]]:
        """The links of a route with wires in place of those that are modelled. ``packet`` is the
        size of its data packets, bytes."""
        there = self._way(forward, HOST, packet)
        return there, self._way(reverse, there[-1], ANSWER)

    def _way(self, links: Sequence[int], before: int, packet: float) -> list[int]:
        way: list[int] = []
        run: list[int] = []
        for link in (*links, None):
            if link is not None and self._modelled[link]:
                run.append(link)
                continue
            if run:
                way.append(self._wire(way[-1] if way else before, packet, tuple(run)))
                run = []
            if link is not None:
                way.append(link)
        return way

    def _wire(self, before: int, packet: float, links: tuple[int, ...]) -> int:
        """The wire that stands for these links behind the one before."""
        key = before, packet, links
        if key not in self._known:
            rate = min(self._rates[i] for i in links)
            others = sum(8 * packet * NS / self._rates[i] for i in links) - 8 * packet * NS / rate
            self._known[key] = self._number + len(self.made)
            self.made.append(
                {
                    "name": f"modelled/{len(self.made) + 1}",
                    "rate": rate,
                    "delay": round(sum(self._delays[i] for i in links) + others),
                    "queue": None,
                    "trace": False,
                    "model": {"wire": {"links": list(links)}},
                }
            )
        return self._known[key]
