"""Makes the flows of the CHOKeW model from a scenario."""

from __future__ import annotations

from typing import Any, Literal

from marqueue.errors import Problem, ScenarioError
from marqueue.scenario import Scenario, compile
from marqueue.scenario.dscp import dscp_value
from marqueue.scenario.parameters import aqms
from marqueue.scenario.quadrature import with_classes
from marqueue.theory.chokew.model import Equilibrium, Flows, equilibrium
from marqueue.theory.plan_inputs import round_trip, tcp_settings

Law = Literal["sqrt", "pftk", "pairs"]
"""TCP's rate at a given loss ratio: the square root law; with timeouts; or with timeouts and the
two packets of a matched drop as one loss."""

MODELLED = "chokew"


def solve_scenario(
    scenario: Scenario, law: Law = "pftk", queue: float | None = None
) -> Equilibrium:
    """Solves the model for a scenario with one CHOKeW link that all flows cross.

    ``queue`` is L, packets; by default L+, the queue length above which p0 rises. Raises
    :class:`ScenarioError` if the scenario is outside the model: another AQM, flows that begin or
    end, several packet sizes.
    """
    plan = compile(with_classes(scenario))
    index, link = _the_link(plan)
    flows, sizes = [], set()
    for group in plan["traffic"]:
        [(kind, what)] = group["kind"].items()
        if kind not in ("tcp", "cbr") or what.get("size"):
            message = f"{group['name']} is not of long TCP or constant-rate flows"
            raise _outside(f"traffic.{group['name']}", message)
        route = plan["routes"][what["route"]]
        if index not in route["forward"]:
            message = f"{group['name']} does not cross {link['name']}"
            raise _outside(f"traffic.{group['name']}", message)
        settings = tcp_settings(plan, what["transport"]) if kind == "tcp" else {}
        size = settings["wire"] if kind == "tcp" else what["packet"]
        sizes.add(size)
        flows.append(
            Flows(
                name=group["name"],
                kind=kind,
                count=what["count"],
                weight=_weight(link["queue"]["policy"], group["dscp"]),
                rtt=round_trip(plan, route, size) if kind == "tcp" else 0.0,
                rate=what["rate"] / (8 * size) if kind == "cbr" else 0.0,
                rto=settings["min_rto"] if kind == "tcp" and law != "sqrt" else 0.0,
                lost_at_once=2.0 if law == "pairs" else 1.0,
            )
        )
    if len(sizes) > 1:
        named = ", ".join(f"{size:g}" for size in sorted(sizes))
        raise _outside("traffic", f"packets of one size, got {named} bytes")
    l_plus = _parameter(link["queue"]["policy"], "l_plus")
    capacity = link["rate"] / (8 * sizes.pop())
    return equilibrium(flows, capacity, l_plus if queue is None else queue)


def _outside(path: str, message: str) -> ScenarioError:
    return ScenarioError([Problem(path, f"outside the model of CHOKeW: {message}")])


def _the_link(plan: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    links = [
        (i, link)
        for i, link in enumerate(plan["links"])
        if link["queue"] and link["queue"]["policy"]["name"] == MODELLED
    ]
    if len(links) != 1:
        raise _outside("topology", f"expected one link with aqm = chokew, got {len(links)}")
    return links[0]


def _parameter(policy: dict[str, Any], name: str) -> Any:
    default = next(spec.default for spec in aqms()[MODELLED].params if spec.name == name)
    return policy["params"].get(name, default)


def _weight(policy: dict[str, Any], dscp: int) -> float:
    weights = _parameter(policy, "weights")
    return next((w for name, w in weights.items() if dscp_value(name) == dscp), 1.0)
