"""Makes the fluid model of DRQ from a scenario."""

from __future__ import annotations

from typing import Any

from marqueue.errors import Problem, ScenarioError
from marqueue.scenario import Scenario, compile
from marqueue.scenario.parameters import aqms
from marqueue.scenario.quadrature import with_classes
from marqueue.theory.allocation.from_scenario import allocation_problem
from marqueue.theory.allocation.proportional_fairness import proportionally_fair
from marqueue.theory.drq.fluid import Drq, Red, Reno
from marqueue.theory.plan_inputs import Plan, round_trip, tcp_settings

MODELLED = "drq"


def network(scenario: Scenario) -> Drq:
    """The fluid model of a scenario in which all congested CPUs and links have DRQ.

    Round-trip times are without queueing; the forward part is taken up to the first queue. Raises
    :class:`ScenarioError` if the scenario is outside the model.
    """
    shared = allocation_problem(scenario).sharing
    plan = compile(with_classes(scenario))
    links = {link["name"]: link for link in plan["links"]}
    for name in proportionally_fair(shared).congested:
        if not _has_drq(links[name]):
            raise _outside("topology", f"{name} is congested, and has no DRQ")
    resources = tuple(r for r in shared.resources if _has_drq(links[r.name]))
    names = [r.name for r in resources]
    traffic = {group["name"]: group["kind"]["tcp"] for group in plan["traffic"] if _tcp(group)}
    flows = tuple(
        _reno(plan, f.name, traffic[f.name], {n: f.demands[n] for n in names if n in f.demands})
        for f in shared.flows
        if any(n in f.demands for n in names)
    )
    return Drq(resources, flows, tuple(_red(links[name]) for name in names))


def _outside(path: str, message: str) -> ScenarioError:
    return ScenarioError([Problem(path, f"outside the fluid model of DRQ: {message}")])


def _tcp(group: Plan) -> bool:
    return "tcp" in group["kind"]


def _has_drq(link: Plan) -> bool:
    return bool(link["queue"]) and link["queue"]["policy"]["name"] == MODELLED


def _red(link: Plan) -> Red:
    """RED with one sample per packet, for packets of the usual size that arrive at the rate of the
    server."""
    given = link["queue"]["policy"]["params"]
    values: dict[str, Any] = {spec.name: spec.default for spec in aqms()[MODELLED].params} | given
    return Red.of_packets(
        values["min_th"],
        values["max_th"],
        values["max_p"],
        values["w_q"],
        8.0 * link["queue"]["mean_packet"],
        float(link["rate"]),
    )


def _reno(plan: Plan, name: str, what: Plan, demands: dict[str, float]) -> Reno:
    route = plan["routes"][what["route"]]
    settings = tcp_settings(plan, what["transport"])
    tau = round_trip(plan, route, settings["wire"])
    way = [plan["links"][i] for i in route["forward"]]
    first = next(i for i, link in enumerate(way) if _has_drq(link))
    before = sum(link["delay"] / 1e9 + 8 * settings["wire"] / link["rate"] for link in way[:first])
    per_ack = 2.0 if settings["delayed_ack"] > 0 else 1.0
    packet = 8 * settings["wire"]
    return Reno(name, demands, packet, tau, what["count"], before / tau, per_ack)
