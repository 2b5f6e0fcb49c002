"""What the page may ask of the compiler: named calls with an argument and an answer in JSON."""

import json
from collections.abc import Callable
from typing import Any

# Registered by compiler.worker.ts.
import marqueue_engine as engine  # type: ignore[import-not-found]

from marqueue.errors import MarqueueError, ScenarioError
from marqueue.scenario import from_toml, outline, schema
from marqueue.theory.fluid.from_scenario import describe


def theory(text: str) -> Any:
    """What the fluid model says of a scenario; ``missing`` if it is outside the model."""
    scenario = from_toml(text)
    try:
        description = describe(scenario)
    except ScenarioError as error:
        return {"missing": "\n".join(map(str, error.problems))}
    return json.loads(engine.theory(json.dumps(description), scenario.duration.seconds))


def stability(given: dict[str, Any]) -> Any:
    """The largest real part of a root of the fluid model for each list of overrides, 1/s."""
    scenarios = [from_toml(given["toml"], each) for each in given["overrides"]]
    descriptions = json.dumps([describe(each) for each in scenarios])
    return json.loads(engine.stability(descriptions, scenarios[0].duration.seconds))


CALLS: dict[str, Callable[[Any], Any]] = {
    "compile": outline.outline,
    "schema": lambda _: schema(),
    "examples": lambda _: outline.examples(),
    "to_toml": outline.toml,
    "to_python": outline.program,
    "theory": theory,
    "stability": stability,
}


def call(name: str, argument: str) -> str:
    """Answers with ``{"value": ...}`` or, after a mistake of the user, ``{"error": text}``."""
    try:
        return json.dumps({"value": CALLS[name](json.loads(argument))})
    except MarqueueError as error:
        return json.dumps({"error": str(error)})
