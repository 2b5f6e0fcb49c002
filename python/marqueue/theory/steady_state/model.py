"""The steady state of long TCP flows over any topology: a fixed point of loss laws and marking
curves.

Class s of n_s flows has a signal probability p_s = 1 - product of (1 - p_l) over the links of its
route and a round-trip time R_s = d_s + sum of q_l / C_l. It delivers W(p_s) / R_s packets/s, where
W is a throughput law of TCP (:mod:`marqueue.theory.tcp.laws`). Each link has a probability p_l >= 0
and a queue q_l that the AQM's stationary curve assigns to it. It carries at most its target c_l,
and exactly c_l if p_l > 0:

    red         p = curve(q), spread over gaps;  c = C      (Floyd and Jacobson 1993, section 7)
    pi, rem     q = q_ref, p such that the link is full;  c = C
    avq         q = 0, p such that utilization is gamma;  c = gamma C  (Kunniyur and Srikant 2004)
    gkvq        q = 0, p such that the virtual queue is full;  c = theta C   (Gibbens, Kelly 1999)
    drq         p = S^2 / (1 + S^2) of the route, S the sum of prices u = curve(q);  c = C
                (Shin, Chong and Rhee 2008, (10), (15))
    droptail    q = the buffer, p the overflow;  c = C
    scaled      arrivals are Poisson at a load of c / C (Eun and Wang 2008, section III): q is the
                mean queue of M/M/1, p its marking curve at that queue;  c < C

This combines the law of Padhye, Firoiu, Towsley and Kurose with the fixed point of Bu and Towsley
(SIGMETRICS 2001). The solver finds the probability of one link after the other, with the others
held constant, until none changes. Flows that obey the prices of mkc have their own model
(:mod:`marqueue.theory.steady_state.price_controlled`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from marqueue._core import ChainQueue
from marqueue.errors import ModelError, Problem, ScenarioError
from marqueue.scenario import Scenario, compile
from marqueue.scenario.quadrature import with_classes
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.allocations import max_min
from marqueue.theory.allocation.from_scenario import allocation_problem
from marqueue.theory.allocation.proportional_fairness import proportionally_fair
from marqueue.theory.fluid.from_scenario import describe
from marqueue.theory.linear.equilibrium import constant_description
from marqueue.theory.plan_inputs import tcp_settings
from marqueue.theory.steady_state import price_controlled
from marqueue.theory.tcp.windows import MOST, LawName, Window, window

#: Smallest probability of a link that is searched; the largest is that of the laws.
LEAST = 1e-10
#: Largest number of rounds over the links, and the relative change at which they stop.
ROUNDS, SAME = 2000, 1e-9
#: Number of loads in the table of a Poisson queue's marks, and the distance of the last from 1.
LOADS, SPARE = 400, 1e-6


@dataclass(frozen=True)
class SteadyLink:
    """Steady state of a link."""

    name: str
    queue: float
    """Packets."""
    probability: float
    """Share of arrivals that is marked or lost; for drq the price u."""
    carried: float
    """Packets/s."""
    capacity: float
    """Packets/s."""

    @property
    def utilization(self) -> float:
        """Carried rate / capacity."""
        return self.carried / self.capacity


@dataclass(frozen=True)
class SteadyClass:
    """Steady state of one flow of a class."""

    name: str
    count: float
    probability: float
    """Share of its packets that is marked or lost."""
    window: float
    """Delivered packets per round-trip time."""
    rate: float
    """Delivered packets/s."""
    rtt: float
    """Round-trip time with queueing, s."""
    proportionally_fair: float | None
    """Rate at the optimum of problem P, packets/s
    (:mod:`marqueue.theory.allocation.proportional_fairness`); None if the scenario is outside that
    model, as with changing rates."""
    max_min: float | None
    """Rate of the max-min fair allocation, packets/s
    (:mod:`marqueue.theory.allocation.allocations`), with the same weights; None likewise."""


@dataclass(frozen=True)
class Steady:
    """The steady state of a scenario."""

    name: str
    law: LawName | Literal["mkc", "kelly"]
    """The law of TCP, or of flows that obey prices."""
    links: Mapping[str, SteadyLink]
    classes: Mapping[str, SteadyClass]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; names contain the base units."""
        return {
            "scenario": self.name,
            "law": self.law,
            "links": {
                each.name: {
                    "queue_packets": each.queue,
                    "probability": each.probability,
                    "carried_packets_per_s": each.carried,
                    "capacity_packets_per_s": each.capacity,
                    "utilization": each.utilization,
                }
                for each in self.links.values()
            },
            "classes": {
                each.name: {
                    "count": each.count,
                    "probability": each.probability,
                    "window_packets": each.window,
                    "rate_packets_per_s": each.rate,
                    "rtt_s": each.rtt,
                    "proportionally_fair_packets_per_s": each.proportionally_fair,
                    "max_min_packets_per_s": each.max_min,
                }
                for each in self.classes.values()
            },
        }


def steady(scenario: Scenario, law: LawName | None = None) -> Steady:
    """The steady state with the links and flows that exist at the end of a scenario.

    The default law is ``ecn`` if all links mark, otherwise ``pftk``; flows that obey prices have
    their own law. Raises :class:`ScenarioError` with every assumption that the scenario breaks,
    :class:`ModelError` if there is no fixed point.
    """
    of = constant_description(describe(scenario), scenario.duration.seconds)
    if any(each["law"]["name"] in price_controlled.LAWS for each in of["classes"]):
        return _priced(scenario.name, of, law)
    _refuse(scenario, of)
    if law is None:
        law = "ecn" if all(link["signal"] == "ecn" for link in of["links"]) else "pftk"
    elif law == "ecn" and any(link["signal"] == "drop" for link in of["links"]):
        raise ModelError("law: got ecn, expected a law of losses: a link drops")
    solver = _Solver(of, _laws(scenario, of, law))
    solver.solve()
    fair = _fair(scenario)
    classes = {}
    for s, each in enumerate(of["classes"]):
        name = each["name"]
        p, rtt = solver.congestion_signal(s), solver.rtt(s)
        delivered = solver.windows[s](p, rtt)
        classes[name] = SteadyClass(
            name, each["count"], p, delivered, delivered / rtt, rtt,
            *fair.get(name, (None, None)),
        )  # fmt: skip
    links = {
        link["name"]: SteadyLink(
            link["name"], solver.queue(i), float(solver.p[i]), solver.carried(i), link["capacity"]
        )
        for i, link in enumerate(of["links"])
    }
    return Steady(scenario.name, law, links, classes)


def _priced(name: str, of: Mapping[str, Any], law: LawName | None) -> Steady:
    """Steady state of flows that obey prices: arrivals beyond capacity are lost, and the queue is
    full."""
    if law is not None:
        raise ModelError(f"law: got {law}, expected none: flows that obey prices have their own")
    found = price_controlled.settle(of)
    capacity = np.array([link["capacity"] for link in of["links"]])
    lost = np.maximum(0.0, 1 - capacity / found.arrivals)
    queue = np.where(lost > 0, [float(link["buffer"]) for link in of["links"]], 0.0)
    links = {
        link["name"]: SteadyLink(
            link["name"], float(queue[i]), float(lost[i]),
            float(found.arrivals[i] * (1 - lost[i])), link["capacity"],
        )
        for i, link in enumerate(of["links"])
    }  # fmt: skip
    classes = {}
    for s, each in enumerate(of["classes"]):
        way = [hop["link"] for hop in each["route"]]
        through = math.prod(1 - float(lost[i]) for i in way)
        rtt = float(each["rtt"] + sum(queue[i] / capacity[i] for i in way))
        rate = float(found.rates[s]) / each["count"] * through
        classes[each["name"]] = SteadyClass(
            each["name"], each["count"], 1 - through, rate * rtt, rate, rtt, None, None
        )
    return Steady(name, of["classes"][0]["law"]["name"], links, classes)


def _fair(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """Proportionally fair and max-min fair rates of each class, packets/s; empty if the scenario is
    outside that model."""
    try:
        shared = allocation_problem(scenario).sharing
    except ScenarioError:
        return {}
    rates = proportionally_fair(shared).rates, max_min(shared).rates
    bits = [_packet_bits(scenario, each.name) for each in shared.flows]
    return {
        each.name: (float(rates[0][i]) / bits[i], float(rates[1][i]) / bits[i])
        for i, each in enumerate(shared.flows)
    }


#: AQMs with a stationary curve.
CURVES = ("droptail", "red", "pi", "rem", "avq", "gkvq", "drq", "scaled")


def _refuse(scenario: Scenario, of: Mapping[str, Any]) -> None:
    problems = [
        Problem(
            f"topology.{link['name']}.aqm",
            f"outside the steady model: {link['aqm']['name']}, expected one of {', '.join(CURVES)}",
        )
        for link in of["links"]
        if link["aqm"]["name"] not in CURVES
    ]
    kinds = {link["aqm"]["name"] for link in of["links"]}
    if "drq" in kinds:
        if others := ", ".join(sorted(kinds - {"drq"})):
            message = f"outside the steady model: drq beside {others}, expected drq alone"
            problems.append(Problem("topology", message))
        # DRQ's signal is code point 10, which is ECT: every packet of such a sender is already
        # signalled.
        problems += [
            Problem(
                f"traffic.{each['name']}",
                'outside the steady model of drq: ecn_field = "ect", expected "initial"',
            )
            for each in of["classes"]
            if _begins_signalled(scenario, each["name"])
        ]
    if problems:
        raise ScenarioError(problems)


def _laws(scenario: Scenario, of: Mapping[str, Any], law: LawName) -> list[Window]:
    windows: list[Window] = []
    for each in of["classes"]:
        settings = _settings(scenario, each["name"])
        per_ack = 2 if settings["delayed_ack"] > 0 else 1
        most = each["law"]["max_window"]
        windows.append(window(law, per_ack, settings["min_rto"], most))
    return windows


def _traffic(scenario: Scenario, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    plan = compile(with_classes(scenario))
    group = next(group for group in plan["traffic"] if group["name"] == name)
    return plan, group["kind"]["tcp"]


def _begins_signalled(scenario: Scenario, name: str) -> bool:
    plan, what = _traffic(scenario, name)
    given = plan["transports"][what["transport"]]["params"]
    return bool(given.get("ecn")) and given.get("ecn_field", "ect") != "initial"


def _settings(scenario: Scenario, name: str) -> dict[str, float]:
    plan, what = _traffic(scenario, name)
    return tcp_settings(plan, what["transport"])


def _packet_bits(scenario: Scenario, name: str) -> float:
    return 8 * _settings(scenario, name)["wire"]


class _Solver:
    """Solves for the probabilities of the links, one after the other."""

    def __init__(self, of: Mapping[str, Any], windows: list[Window]) -> None:
        self.links, self.classes, self.windows = of["links"], of["classes"], windows
        self.p = np.zeros(len(self.links))
        self.routes = [[hop["link"] for hop in each["route"]] for each in self.classes]

    def queue(self, i: int) -> float:
        """Queue of a link at its present probability, packets; empty if the link sends no
        signals."""
        link, aqm, p = self.links[i], self.links[i]["aqm"], float(self.p[i])
        if p == 0.0:
            return 0.0
        match aqm["name"]:
            case "droptail":
                return float(link["buffer"])
            case "pi" | "rem":
                return float(aqm["q_ref"])
            case "red" | "drq":
                return _average(aqm, p)
            case "scaled":
                load = self.target(i) / float(link["capacity"])
                return load / (1 - load)
        return 0.0

    def target(self, i: int) -> float:
        """Target rate of a link, packets/s."""
        link, aqm = self.links[i], self.links[i]["aqm"]
        match aqm["name"]:
            case "avq":
                share = aqm["gamma"]
            case "gkvq":
                share = aqm["theta"]
            case "scaled":
                share = _load(aqm["curve"], aqm["flows"], aqm["a"], float(self.p[i]))
            case _:
                share = 1.0
        return float(share * link["capacity"])

    def congestion_signal(self, s: int) -> float:
        """Signal probability of a class; prices of DRQ are summed."""
        if self.links[0]["aqm"]["name"] == "drq":
            price = sum(float(self.p[i]) for i in self.routes[s])
            return price**2 / (1 + price**2)
        return 1 - math.prod(1 - float(self.p[i]) for i in self.routes[s])

    def rtt(self, s: int) -> float:
        """s."""
        waits = sum(self.queue(i) / float(self.links[i]["capacity"]) for i in self.routes[s])
        return float(self.classes[s]["rtt"]) + waits

    def carried(self, i: int) -> float:
        """Delivered rate of a link, packets/s."""
        total = 0.0
        for s, route in enumerate(self.routes):
            if i in route:
                rtt = self.rtt(s)
                each = self.windows[s](max(self.congestion_signal(s), LEAST), rtt) / rtt
                total += self.classes[s]["count"] * each
        return total

    def excess(self, i: int, log_p: float) -> float:
        """Logarithm of carried rate / target if the link had this probability."""
        self.p[i] = math.exp(log_p)
        return float(math.log(self.carried(i) / self.target(i)))

    def solve(self) -> None:
        """Iterates over the links. Raises :class:`ModelError` if the iteration does not
        converge."""
        low, high = math.log(LEAST), math.log(MOST)
        for _ in range(ROUNDS):
            before = self.p.copy()
            for i, link in enumerate(self.links):
                if self.excess(i, low) <= 0:
                    self.p[i] = 0.0
                    continue
                if self.excess(i, high) > 0:
                    raise ModelError(
                        f"{link['name']}: overloaded even if nearly every packet is lost or "
                        "marked: too many flows with windows of at least one packet"
                    )
                self.p[i] = math.exp(brentq(partial(self.excess, i), low, high, xtol=1e-12))
            if np.all(np.abs(self.p - before) <= SAME * np.maximum(self.p, 1e-9)):
                return
        raise ModelError("the iteration over the links did not converge")


def _load(curve: str, flows: float, a: float, p: float) -> float:
    """The load at which a scaled marking curve marks a share p of Poisson arrivals."""
    log_p, loads = _marks(curve, flows, a)
    return float(np.interp(math.log(max(p, LEAST)), log_p, loads))


@cache
def _marks(curve: str, flows: float, a: float) -> tuple[Floats, Floats]:
    # The last number, its buffer, drops packets but marks none.
    loads = 1 - np.geomspace(1 - SPARE, SPARE, LOADS)
    queue = ChainQueue((curve, flows, a, 0.0, 1.0), "mm1")
    p = queue.marking(loads, np.ones(1))[:, 0]
    return np.log(p[p > 0]), loads[p > 0]


def _average(aqm: Mapping[str, Any], p: float) -> float:
    """The average queue at which RED's curve, with its gaps, marks a share p, or at which DRQ's
    curve is the price p; the end of the curve if it never reaches p."""
    curve = aqm["curve"]
    # Share of marked packets with gaps: 2 x / (1 + x) or 2 x / (3 + x), x the curve.
    gaps = aqm.get("gaps", "geometric")
    at = {"geometric": p, "uniform": p / (2 - p), "wait": 3 * p / (2 - p)}[gaps]
    queues = [curve["min_th"], curve["max_th"]]
    shares = [0.0, curve["max_p"]]
    if curve["gentle"]:
        queues.append(2 * curve["max_th"])
        shares.append(1.0)
    return float(np.interp(at, shares, queues))
