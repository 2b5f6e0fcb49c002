"""Makes the description of the fluid model from a scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import marqueue._core as _core
from marqueue.errors import Problem, ScenarioError
from marqueue.scenario import Scenario, compile
from marqueue.scenario.parameters import aqms, rate_laws, resolved_tcp
from marqueue.scenario.quadrature import with_classes
from marqueue.theory.plan_inputs import Plan, round_trip, tcp_settings

if TYPE_CHECKING:
    from marqueue.theory.fluid.model import Description

Source = Literal["reno", "reno-sawtooth", "constant-rtt", "drq"]
"""The equation for TCP.

``reno`` is that of Misra, Gong and Towsley: a mark halves the mean window, and round-trip times
grow with queues. In ``reno-sawtooth`` a mark finds the window at its peak, 4/3 of the mean.
``constant-rtt`` is the equation of the AVQ paper and ``drq`` that of the DRQ paper, both with peaks
and constant round-trip times.
"""

DECREASE = {"reno": 1 / 2, "reno-sawtooth": 2 / 3}
"""The decrease of the mean window by a mark: half of the mean, or half of the peak. With the peak W
is sqrt(3/(2p)), as for regular losses (Mathis et al. 1997); with the mean sqrt(2/p)."""

#: beta of the AVQ paper, (1).
BETA = 2 / 3


def describe(scenario: Scenario, source: Source = "reno") -> Description:
    """The description of the fluid model of a scenario; see :mod:`.model`.

    Raises :class:`ScenarioError` with every assumption of the model that the scenario breaks.
    """
    reader = _Reader(compile(with_classes(scenario)), source)
    description = reader.read()
    if reader.problems:
        raise ScenarioError(
            [Problem(p.path, f"outside the fluid model: {p.message}") for p in reader.problems]
        )
    return description


@dataclass
class _Reader:
    plan: Plan
    source: Source
    problems: list[Problem] = field(default_factory=list)
    _tcp: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Settings by transport, which many groups share; and below, the sizes of their packets."""
    _wire: dict[int, float] = field(default_factory=dict)

    def refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def read(self) -> Description:
        groups = list(self.groups())
        crossing: dict[int, list[tuple[Plan, Plan]]] = {}
        for group, what in groups:
            for i in dict.fromkeys(self.queued(what)):
                crossing.setdefault(i, []).append((group, what))
        crossed = sorted(crossing)
        if not crossed:
            self.refuse(
                "topology", "no queue is crossed by its flows, expected one that is managed"
            )
        self.two_ways(groups)
        at = {link: k for k, link in enumerate(crossed)}
        return {
            "links": [self.link(i, crossing[i]) for i in crossed],
            "classes": [self.class_(group, what, at) for group, what in groups],
        }

    def queued(self, what: Plan) -> list[int]:
        """The managed queues on the route of a group."""
        forward = self.plan["routes"][what["route"]]["forward"]
        return [i for i in forward if self.plan["links"][i]["queue"]]

    def groups(self) -> Iterator[tuple[Plan, Plan]]:
        """The groups of traffic in the model, with their kinds."""
        for group in self.plan["traffic"]:
            [(kind, what)] = group["kind"].items()
            path = f"traffic.{group['name']}"
            if kind not in ("tcp", "paced"):
                named = {"poisson": "flows that end", "cbr": "UDP", "packets": "UDP"}.get(
                    kind, kind
                )
                self.refuse(path, f"{named}, expected long flows that react to the network")
            elif what.get("size") or what.get("write"):
                self.refuse(path, "flows that end or wait for data, expected endless data")
            elif what["count"]:
                yield group, what

    def two_ways(self, groups: list[tuple[Plan, Plan]]) -> None:
        """Refuses acknowledgements that share a queue with data."""
        routes = [self.plan["routes"][what["route"]] for _, what in groups]
        data = {i for route in routes for i in route["forward"]}
        for i in sorted({i for route in routes for i in route["reverse"]} & data):
            if self.plan["links"][i]["queue"]:
                name = self.plan["links"][i]["name"]
                self.refuse("traffic", f"data and acknowledgements share the queue of {name}")

    # Links

    def link(self, index: int, groups: list[tuple[Plan, Plan]]) -> dict[str, Any]:
        """Description of a queue, and the flows that cross it."""
        link = self.plan["links"][index]
        queue, name = link["queue"], link["name"]
        packet = float(queue["mean_packet"])
        if link.get("cpu"):
            self.refuse(f"topology.{name}", "a CPU, expected links only")
        if any(link.get("pipe", {}).values()):
            self.refuse(f"topology.{name}", "an impaired link, expected clear ones")
        if link.get("delivery_opportunities"):
            self.refuse(f"topology.{name}.delivery_trace", "a trace, expected rates")
        if link.get("medium"):
            self.refuse(f"topology.{name}.medium", "medium access, expected rates")
        for group, what in groups:
            if (wire := self.wire(what)) != packet:
                self.refuse(
                    f"traffic.{group['name']}",
                    f"packets of {wire:g} bytes on {name}, where they usually have {packet:g}: "
                    "expected packets of one size on a link",
                )
        rate = link["rate"] / 8 / packet
        buffer = float(queue["limit"].get("packets", queue["limit"].get("bytes", 0) / packet))
        made = {
            "name": name,
            "capacity": rate,
            "buffer": buffer,
            "signal": self.signal(index, groups),
            "schedule": [[t / 1e9, bits / 8 / packet] for t, bits in link.get("schedule", ())],
            "aqm": {"name": "droptail"},
        }
        policy = queue["policy"]
        if policy["name"] not in AQMS:
            expected = ", ".join(AQMS)
            self.refuse(f"topology.{name}.aqm", f"{policy['name']}, expected one of {expected}")
            return made
        specs = {spec.name: spec.default for spec in aqms()[policy["name"]].params}
        if policy["name"] == "red":
            made["aqm"] = _red(policy["params"], specs, rate, link["delay"] / 1e9)
        elif policy["name"] == "scaled":
            made |= _scaled(specs | policy["params"], buffer)
        else:
            made["aqm"] = AQMS[policy["name"]](specs | policy["params"])
        if policy["name"] == "avq" and "buffer" in policy["params"]:
            self.refuse(
                f"topology.{name}.aqm.buffer", "a virtual buffer, and the model's AVQ has none"
            )
        if policy["name"] == "avq" and made["schedule"]:
            self.refuse(f"topology.{name}.schedule", "a capacity that changes, under AVQ")
        return made

    def signal(self, index: int, groups: list[tuple[Plan, Plan]]) -> str:
        """Whether congestion signals of a queue are marks (ecn) or losses (drop)."""
        link = self.plan["links"][index]
        kinds = {self.answers(what) for _, what in groups}
        if link["queue"]["signal"] == "drop":
            return "drop"
        if len(kinds) > 1:
            self.refuse(
                f"topology.{link['name']}", "flows with and without ECN, expected one or the other"
            )
        return "ecn" if kinds == {True} else "drop"

    def answers(self, what: Plan) -> bool:
        """Whether flows use ECN."""
        return bool(what["ecn"] if "control" in what else self.tcp(what)["ecn"])

    # Classes

    def tcp(self, what: Plan) -> dict[str, Any]:
        """All TCP settings of a group."""
        name = what["transport"]
        if name not in self._tcp:
            of = self.plan["transports"][name]
            self._tcp[name] = resolved_tcp(of["preset"], of["params"])
        return self._tcp[name]

    def wire(self, what: Plan) -> float:
        """The size of a group's packets on the wire, bytes."""
        if "control" in what:
            return float(what["packet"])
        name = what["transport"]
        if name not in self._wire:
            self._wire[name] = tcp_settings(self.plan, name)["wire"]
        return self._wire[name]

    def class_(self, group: Plan, what: Plan, at: Mapping[int, int]) -> dict[str, Any]:
        """Description of a group of identical flows."""
        route = self.plan["routes"][what["route"]]
        wire = self.wire(what)
        law, initial = self.law(group, what, wire)
        return {
            "name": group["name"],
            "count": float(what["count"]),
            "law": law,
            "rtt": round_trip(self.plan, route, wire),
            "route": [{"link": at[i], "before": t} for i, t in self.hops(route, wire)],
            "initial": initial,
            "start": what["start"] / 1e9,
            "jitter": what["jitter"] / 1e9,
            "stop": what["stop"] / 1e9 if what["stop"] else None,
        }

    def hops(self, route: Plan, wire: float) -> Iterator[tuple[int, float]]:
        """The queues on a route, with the delay from the first of them, s."""
        passed, first = 0.0, None
        for i in route["forward"]:
            link = self.plan["links"][i]
            if link["queue"]:
                first = passed if first is None else first
                yield i, passed - first
            passed += link["delay"] / 1e9 + 8 * wire / link["rate"]

    def law(self, group: Plan, what: Plan, wire: float) -> tuple[dict[str, Any], float]:
        """The law of the sources, and the initial window or rate."""
        if "control" in what:
            return self.paced(group, what, wire)
        values = self.tcp(what)
        if values["control"] not in ("reno", "aimd"):
            self.refuse(
                f"transport.{group['name']}", f"{values['control']}, expected the window of reno"
            )
        if values["control"] == "aimd" and (values["aimd_a"], values["aimd_b"]) != (1.0, 0.5):
            self.refuse(f"transport.{group['name']}", "AIMD with other constants than Reno's")
        window = float(values["initial_window"])
        if self.source in DECREASE:
            most = float(values["max_window"])
            return {"name": "reno", "decrease": DECREASE[self.source], "max_window": most}, window
        rtt = round_trip(self.plan, self.plan["routes"][what["route"]], wire)
        if self.source == "drq":
            per_ack = 2.0 if values["delayed_ack"] > 0 else 1.0
            return {"name": "drq", "per_ack": per_ack}, window / rtt
        return {"name": "constant-rtt", "beta": BETA}, window / rtt

    def paced(self, group: Plan, what: Plan, wire: float) -> tuple[dict[str, Any], float]:
        """The same for rate-controlled flows."""
        name, bits = what["control"]["name"], 8 * wire
        specs = {spec.name: spec.default for spec in rate_laws()[name].params}
        values = specs | what["control"]["params"]
        law: dict[str, Any] = {"interval": self.interval(group, what)}
        if name == "kelly":
            least = values["min_rate"] or values["kappa"] * values["omega"]
            law |= {"name": "kelly", "kappa": values["kappa"], "omega": values["omega"] / bits}
        elif name == "emkc":
            least = values["min_rate"] or values["alpha"]
            law |= {"name": "mkc", "alpha": values["alpha"] / bits, "beta": values["beta"]}
        else:
            least = bits
            self.refuse(f"traffic.{group['name']}", f"{name}, expected one of kelly, emkc")
        return law | {"least": least / bits}, what["rate"] / bits

    def interval(self, group: Plan, what: Plan) -> float:
        """The interval at which a flow receives new prices, s."""
        policies = [self.plan["links"][i]["queue"]["policy"] for i in self.queued(what)]
        every = [
            {spec.name: spec.default for spec in aqms()["mkc"].params} | policy["params"]
            for policy in policies
            if policy["name"] == "mkc"
        ]
        if not every:
            self.refuse(f"traffic.{group['name']}", "no price on its way, expected aqm = mkc")
        return max((float(each["delta"]) for each in every), default=1.0)


def _red(given: Plan, specs: Plan, rate: float, delay: float) -> dict[str, Any]:
    min_th, max_th, w_q = _core.red_parameters(json.dumps(given), rate, delay)
    values = specs | given
    curve = {"min_th": min_th, "max_th": max_th, "w_q": w_q}
    gaps = "wait" if values["wait"] else "uniform"
    return {"name": "red", "curve": curve | _only(values, "max_p", "gentle"), "gaps": gaps}


def _drq(values: Plan) -> dict[str, Any]:
    curve = _only(values, "min_th", "max_th", "max_p", "w_q")
    return {"name": "drq", "curve": curve | {"gentle": True}}


def _scaled(values: Plan, buffer: float) -> dict[str, Any]:
    """The AQM's own buffer applies if that of the link is longer."""
    a, flows = values["a"], values["flows"]
    b = min(a + 0.1, 1.0) if values["b"] is None else values["b"]
    own = max(1.0, round(values["buffer"] * flows**b))
    aqm = {"name": "scaled", "curve": values["curve"], "flows": flows, "a": a}
    return {"aqm": aqm, "buffer": min(buffer, own)}


def _only(values: Plan, *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names}


#: Parameters of the model by AQM; red and scaled need more than these.
AQMS: dict[str, Any] = {
    "droptail": lambda _: {"name": "droptail"},
    "red": None,
    "pi": lambda v: {"name": "pi", **_only(v, "a", "b", "w", "q_ref")},
    "rem": lambda v: {"name": "rem", **_only(v, "gamma", "phi", "alpha", "period", "q_ref")},
    "avq": lambda v: {"name": "avq", **_only(v, "gamma", "alpha", "initial")},
    "gkvq": lambda v: {"name": "gkvq", **_only(v, "theta")},
    "drq": _drq,
    "mkc": lambda v: {"name": "mkc", **_only(v, "delta", "share")},
    "scaled": None,
}
