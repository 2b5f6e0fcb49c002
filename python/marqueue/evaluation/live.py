"""Suites on live links: Linux's TCP through the same queues, in real time.

Packets are not recorded there, and finite connections are not traced, so that criteria which read
these records do not apply. Scenarios with senders that Linux does not have are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marqueue.errors import ScenarioError
from marqueue.evaluation.bench import Bench, Progress
from marqueue.live.run import available_laws, run_live
from marqueue.live.termination import signals_raise
from marqueue.live.unsupported import refuse
from marqueue.results import Result
from marqueue.scenario import Scenario, compile, from_dict

RETRIES = 2
"""How often a replication for which the machine did not keep up is run again: without, a pause of
the machine in one of ten replications leaves a scenario undecided."""


def _without_records(value: Any) -> Any:
    """A scenario's table without records of packets and connections."""
    if isinstance(value, list):
        return [_without_records(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_records(each) for key, each in value.items() if key != "trace"}


def _prepared(scenario: Scenario) -> Scenario:
    return from_dict(_without_records(scenario.to_dict()))


def _refusal(scenario: Scenario) -> str:
    try:
        refuse(scenario, compile(scenario), available_laws())
    except ScenarioError as error:
        return "; ".join(line.strip() for line in str(error).splitlines())
    return ""


def _run(scenarios: Sequence[Scenario], _: int | None, progress: Progress | None) -> list[Result]:
    """One after the other, because each needs the machine for itself."""
    found: list[Result] = []
    before = 0.0
    with signals_raise():
        for scenario in scenarios:

            def tell(done: float, total: float, before: float = before) -> None:
                if progress:
                    progress(before + done, total)

            found.append(run_live(scenario, progress=tell, retries=RETRIES))
            before += float(scenario.duration.seconds * scenario.replications)
    return found


def _complaint(result: Result) -> str:
    reasons = (result.provenance.live or {}).get("invalid_reasons", [])
    return reasons[0] if reasons else ""


LIVE = Bench("live", _run, _prepared, _refusal, _complaint)
