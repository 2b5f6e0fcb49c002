"""Warnings about valid scenarios that probably do not do what their author expects."""

import json
from collections.abc import Iterator

import marqueue._core as _core
from marqueue.scenario.compilation import Plan
from marqueue.scenario.compiler import plan_text
from marqueue.scenario.model import Scenario
from marqueue.scenario.parameters import RateLawEntry, aqms, rate_laws
from marqueue.scenario.traffic import Paced
from marqueue.units import Rate

MOST_WARNINGS = 20
"""Warnings that are shown; of the others, the number."""


LARGE = 10**7
"""Bytes. A larger plan is that of a network from a file. All of its links have queues, so it is not
searched for queues that never build up."""


def scenario_warnings(scenario: Scenario) -> list[str]:
    """The warnings, one sentence each. Raises ScenarioError with all contradictions."""
    text = plan_text(scenario)
    paced = [table for table in scenario.traffic if isinstance(table, Paced)]
    said = [each for table in paced for each in _unstable(table)]
    said += _core.check(text)
    if paced or len(text) < LARGE:
        plan = json.loads(text)
        said += [each for entry in plan["traffic"] for each in _unheard(plan, entry)]
        said += _idle_queues(plan)
    more = len(said) - MOST_WARNINGS
    return [*said[:MOST_WARNINGS], f"{more:,} more of this kind."] if more > 0 else said


def _unstable(table: Paced) -> Iterator[str]:
    """A rate law with an unstable gain (Zhang, Kang and Loguinov, SIGCOMM 2004, Theorem 4)."""
    law = rate_laws()[table.control.name]
    declared = {spec.name: spec.default for spec in law.params}
    beta = table.control.params.get("beta", declared.get("beta"))
    if law.listens and isinstance(beta, float) and not 0 < beta < 2:
        yield (
            f"{law.name} with beta = {beta:g}: EMKC is stable if and only if 0 < beta < 2, "
            "whatever the delays (Zhang, Kang and Loguinov 2004, Theorem 4)."
        )


def _unheard(plan: Plan, entry: Plan) -> Iterator[str]:
    """A rate law that follows prices, on a route where no queue writes them."""
    [settings] = entry["kind"].values()
    # That of a paced flow is a table, that of a QUIC flow a name.
    control = settings.get("control")
    law = rate_laws().get(control["name"]) if isinstance(control, dict) else None
    if not isinstance(law, RateLawEntry) or not law.listens:
        return
    queues = [plan["links"][i]["queue"] for i in plan["routes"][settings["route"]]["forward"]]
    speaking = [name for name, aqm in aqms().items() if aqm.prices]
    if not any(queue and queue["policy"]["name"] in speaking for queue in queues):
        speak = ", ".join(speaking)
        yield (
            f"{entry['name']}: {law.name} follows the price of routers, but no queue on its route "
            f"writes one (AQMs that do: {speak}); its rate does not change."
        )


def _idle_queues(plan: Plan) -> Iterator[str]:
    """Queues that never build up, because packets come over links without a queue of the scenario
    that are together not faster. Where the rate of the link varies nothing is said."""
    links = plan["links"]
    before: dict[int, set[int | None]] = {}
    for route in plan["routes"]:
        for way in (route["forward"], route["reverse"]):
            for link, last in zip(way, [None, *way], strict=False):
                before.setdefault(link, set()).add(last)
    for link, feeders in before.items():
        queue = links[link]
        varies = any(queue.get(key) for key in ("schedule", "delivery_opportunities", "medium"))
        if not queue["queue"] or queue.get("cpu") or varies or None in feeders:
            continue
        wires = [links[each] for each in feeders if each is not None]
        # A class has as many links of single flows as it has flows.
        if any(wire["queue"] or wire.get("per_flow") for wire in wires):
            continue
        rate = sum(wire["rate"] for wire in wires)
        if rate <= queue["rate"]:
            names = wires[0]["name"] if len(wires) == 1 else f"{len(wires)} links"
            yield (
                f"{queue['name']}: no queue builds up here, because packets come over {names} with "
                f"{Rate(rate)}, which is not more than its own {Rate(queue['rate'])}. "
                "They wait there instead, in a queue without a limit."
            )
