"""Where long TCP flows over any topology settle: the fixed point of loss laws and marking curves.

Class s of n_s flows meets the share p_s = 1 - product of (1 - p_l) over the links of its route,
has a round trip R_s = d_s + sum of q_l / C_l, and delivers W(p_s) / R_s packets/s, W a law of TCP
(:mod:`marqueue.theory.tcp.laws`). A link has a share p_l >= 0 and a queue q_l that follows from it
by its AQM's curve at rest, and what it carries is at most its target c_l, and is c_l if p_l > 0:

    red         p = curve(q), spread over gaps;  c = C      (Floyd and Jacobson 1993, section 7)
    pi, rem     q = q_ref, p whatever fills the link;  c = C
    avq         q = 0, p whatever holds utilization;  c = gamma C    (Kunniyur and Srikant 2004)
    gkvq        q = 0, p whatever holds its virtual queue;  c = theta C      (Gibbens, Kelly 1999)
    drq         p = S^2 / (1 + S^2) of the route, S the sum of prices u = curve(q);  c = C
                (Shin, Chong and Rhee 2008, (10), (15))
    droptail    q = the buffer, p what overflows;  c = C
    scaled      at a load of c / C arrivals are Poisson (Eun and Wang 2008, section III): q is the
                mean queue of M/M/1, p what its marking curve makes of that queue;  c < C

So does Padhye, Firoiu, Towsley and Kurose's law meet Bu and Towsley's fixed point (SIGMETRICS
2001). Link by link, its share is what fills it, the others' as they are, until nothing moves: each
flow's rate falls with every share, so that the shares rise and fall to one another's. Flows that
obey the prices of mkc have rates of their own (:mod:`marqueue.theory.steady_state.rates`).
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
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.allocations import max_min
from marqueue.theory.allocation.from_scenario import of_scenario
from marqueue.theory.allocation.proportional_fairness import proportionally_fair
from marqueue.theory.fluid.from_scenario import describe
from marqueue.theory.linear.equilibrium import settled
from marqueue.theory.plan_inputs import tcp_settings
from marqueue.theory.steady_state import rates
from marqueue.theory.tcp.windows import MOST, LawName, Window, window

#: The least share of a link that is looked for; the largest is that of the laws.
LEAST = 1e-10
#: Rounds over the links, and to what shares are the same, relative.
ROUNDS, SAME = 2000, 1e-9
#: Loads of the table of a Poisson queue's marks, and how far below 1 the last is.
LOADS, SPARE = 400, 1e-6


@dataclass(frozen=True)
class SteadyLink:
    """A link at rest."""

    name: str
    queue: float
    """Packets."""
    probability: float
    """The share of arrivals that is marked or lost; of drq the price u."""
    carried: float
    """Packets/s."""
    capacity: float
    """Packets/s."""

    @property
    def utilization(self) -> float:
        """What it carries of its capacity."""
        return self.carried / self.capacity


@dataclass(frozen=True)
class SteadyClass:
    """One flow of a class at rest."""

    name: str
    count: float
    probability: float
    """The share of its packets that is marked or lost."""
    window: float
    """Packets delivered a round trip."""
    rate: float
    """Delivered packets/s."""
    rtt: float
    """s, queueing included."""
    proportionally_fair: float | None
    """Packets/s at problem P's optimum (:mod:`marqueue.theory.allocation.proportional_fairness`);
    None where that model refuses the scenario, as with rates that change."""
    max_min: float | None
    """Packets/s of the max-min fair allocation (:mod:`marqueue.theory.allocation.allocations`),
    weights as there; None likewise."""


@dataclass(frozen=True)
class Steady:
    """The fixed point of a scenario."""

    name: str
    law: LawName | Literal["mkc", "kelly"]
    """Of TCP, or of flows that obey prices."""
    links: Mapping[str, SteadyLink]
    classes: Mapping[str, SteadyClass]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; base units stand in names."""
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
    """The fixed point of the links and flows that there are at the end of a scenario.

    By default the law is ``ecn`` where all links mark and ``pftk`` elsewhere; flows that obey
    prices have their own. Raises
    :class:`ScenarioError` with every assumption that the scenario breaks,
    :class:`ModelError` if there is no fixed point.
    """
    of = settled(describe(scenario), scenario.duration.seconds)
    if any(each["law"]["name"] in rates.LAWS for each in of["classes"]):
        return _priced(scenario.name, of, law)
    _refuse(scenario, of)
    if law is None:
        law = "ecn" if all(link["signal"] == "ecn" for link in of["links"]) else "pftk"
    elif law == "ecn" and any(link["signal"] == "drop" for link in of["links"]):
        raise ModelError("law: got ecn, expected one of losses: a link drops")
    solver = _Solver(of, _laws(scenario, of, law))
    solver.solve()
    fair = _fair(scenario)
    classes = {}
    for s, each in enumerate(of["classes"]):
        name = each["name"]
        p, rtt = solver.heard(s), solver.rtt(s)
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
    """Of flows that obey prices: what exceeds a link is lost, and its queue is full."""
    if law is not None:
        raise ModelError(f"law: got {law}, expected none: flows that obey prices have their own")
    found = rates.settle(of)
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
    """Packets/s of each class, proportionally and max-min fair; nothing where that model refuses
    the scenario."""
    try:
        shared = of_scenario(scenario).sharing
    except ScenarioError:
        return {}
    rates = proportionally_fair(shared).rates, max_min(shared).rates
    bits = [_packet_bits(scenario, each.name) for each in shared.flows]
    return {
        each.name: (float(rates[0][i]) / bits[i], float(rates[1][i]) / bits[i])
        for i, each in enumerate(shared.flows)
    }


#: AQMs that have a curve at rest here.
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
        # Its signal, 10, is ECT: a sender that begins there has every signal for a mark.
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
    plan = compile(scenario)
    group = next(group for group in plan["traffic"] if group["name"] == name)
    return plan, group["kind"]["tcp"]


def _begins_signalled(scenario: Scenario, name: str) -> bool:
    plan, what = _traffic(scenario, name)
    given = plan["transports"][what["transport"]]["params"]
    return bool(given.get("ecn")) and given.get("ecn_field", "ect") == "ect"


def _settings(scenario: Scenario, name: str) -> dict[str, float]:
    plan, what = _traffic(scenario, name)
    return tcp_settings(plan, what["transport"])


def _packet_bits(scenario: Scenario, name: str) -> float:
    return 8 * _settings(scenario, name)["wire"]


class _Solver:
    """Shares of the links, one after the other."""

    def __init__(self, of: Mapping[str, Any], windows: list[Window]) -> None:
        self.links, self.classes, self.windows = of["links"], of["classes"], windows
        self.p = np.zeros(len(self.links))
        self.routes = [[hop["link"] for hop in each["route"]] for each in self.classes]

    def queue(self, i: int) -> float:
        """Packets, from the share; nothing waits where nobody is told to slow down."""
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
        """What the link may carry, packets/s."""
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

    def heard(self, s: int) -> float:
        """The share that a class meets; DRQ's prices add up."""
        if self.links[0]["aqm"]["name"] == "drq":
            price = sum(float(self.p[i]) for i in self.routes[s])
            return price**2 / (1 + price**2)
        return 1 - math.prod(1 - float(self.p[i]) for i in self.routes[s])

    def rtt(self, s: int) -> float:
        """s."""
        waits = sum(self.queue(i) / float(self.links[i]["capacity"]) for i in self.routes[s])
        return float(self.classes[s]["rtt"]) + waits

    def carried(self, i: int) -> float:
        """Packets/s that the link delivers."""
        total = 0.0
        for s, route in enumerate(self.routes):
            if i in route:
                rtt = self.rtt(s)
                each = self.windows[s](max(self.heard(s), LEAST), rtt) / rtt
                total += self.classes[s]["count"] * each
        return total

    def excess(self, i: int, log_p: float) -> float:
        """What the link would carry above its target at a share."""
        self.p[i] = math.exp(log_p)
        return float(math.log(self.carried(i) / self.target(i)))

    def solve(self) -> None:
        """Raises :class:`ModelError` if shares do not settle."""
        low, high = math.log(LEAST), math.log(MOST)
        for _ in range(ROUNDS):
            before = self.p.copy()
            for i, link in enumerate(self.links):
                if self.excess(i, low) <= 0:
                    self.p[i] = 0.0
                    continue
                if self.excess(i, high) > 0:
                    raise ModelError(
                        f"{link['name']}: its flows exceed it even where nearly every packet is "
                        "lost or marked: windows of at least one packet are too many"
                    )
                self.p[i] = math.exp(brentq(partial(self.excess, i), low, high, xtol=1e-12))
            if np.all(np.abs(self.p - before) <= SAME * np.maximum(self.p, 1e-9)):
                return
        raise ModelError("the shares of the links do not settle")


def _load(curve: str, flows: float, a: float, p: float) -> float:
    """The load at which a scaled curve marks a share p of Poisson arrivals."""
    log_p, loads = _marks(curve, flows, a)
    return float(np.interp(math.log(max(p, LEAST)), log_p, loads))


@cache
def _marks(curve: str, flows: float, a: float) -> tuple[Floats, Floats]:
    # Its buffer, the last number, loses packets and marks none.
    loads = 1 - np.geomspace(1 - SPARE, SPARE, LOADS)
    queue = ChainQueue((curve, flows, a, 0.0, 1.0), "mm1")
    p = queue.marking(loads, np.ones(1))[:, 0]
    return np.log(p[p > 0]), loads[p > 0]


def _average(aqm: Mapping[str, Any], p: float) -> float:
    """Where RED's curve, with its gaps, marks a share p, or DRQ's is a price; at its end where it
    never does."""
    curve = aqm["curve"]
    # 2 x / (1 + x) and 2 x / (3 + x) of packets, x the curve.
    gaps = aqm.get("gaps", "geometric")
    at = {"geometric": p, "uniform": p / (2 - p), "wait": 3 * p / (2 - p)}[gaps]
    queues = [curve["min_th"], curve["max_th"]]
    shares = [0.0, curve["max_p"]]
    if curve["gentle"]:
        queues.append(2 * curve["max_th"])
        shares.append(1.0)
    return float(np.interp(at, shares, queues))
