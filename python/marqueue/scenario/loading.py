"""Scenarios from files and texts, with single values replaced."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from marqueue.errors import Problem, ScenarioError, show, unknown
from marqueue.scenario.compiler import compile
from marqueue.scenario.model import Scenario
from marqueue.scenario.problems import problems
from marqueue.scenario.reading import origin_of, read_scenario

TOO_DEEP = "nested too deeply, expected a few tables within each other"


def load(path: Path | str, overrides: Iterable[str] = ()) -> Scenario:
    """The scenario of a file, with ``overrides`` such as ``"topology.bottleneck.delay=5 ms"``.

    The file may be a pipe, or standard input as ``-``, and has at most 64 MiB.
    """
    return from_toml(read_scenario(path), overrides, origin=origin_of(path))


def from_toml(text: str, overrides: Iterable[str] = (), origin: str = "scenario") -> Scenario:
    """The scenario of a text."""
    try:
        data = _toml(text)
    except ValueError as error:
        raise ScenarioError([Problem("", f"not TOML: {error}")], origin) from None
    return from_dict(data, overrides, origin)


def from_dict(
    data: dict[str, Any], overrides: Iterable[str] = (), origin: str = "scenario"
) -> Scenario:
    """The scenario of nested dicts and lists, as TOML or JSON yield them."""
    try:
        for override in overrides:
            data = _override(data, override)
        scenario = Scenario.model_validate(data)
        compile(scenario)
    except ValidationError as error:
        raise ScenarioError(problems(error, Scenario, data), origin) from None
    except ScenarioError as error:
        raise ScenarioError(error.problems, origin) from None
    except RecursionError:
        raise ScenarioError([Problem("", TOO_DEEP)], origin) from None
    return scenario


def with_overrides(scenario: Scenario, overrides: Iterable[str]) -> Scenario:
    """The scenario with single values replaced, each written as ``"path=value"``."""
    return from_dict(scenario.to_dict(), overrides)


def _override(data: dict[str, Any], override: str) -> dict[str, Any]:
    """A copy with one value replaced. The value is TOML, or else a text."""
    path, equals, text = override.partition("=")
    steps = [step.strip() for step in path.split(".")]
    if not equals or not all(steps):
        raise ScenarioError(
            [
                Problem(
                    "",
                    f"got {show(override)}, expected PATH=VALUE such as traffic.0.count=20",
                )
            ]
        )
    replaced = _replace(data, steps, _value(text.strip()), path)
    assert isinstance(replaced, dict)
    return replaced


def _value(text: str) -> object:
    try:
        return _toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _toml(text: str) -> dict[str, Any]:
    """Raises ValueError, also for what Python's parser stumbles over: numbers of thousands of
    digits, and more brackets than its stack holds."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _replace(here: object, steps: list[str], value: object, path: str) -> object:
    """A copy of ``here`` with ``value`` where the steps lead; tables are made on the way."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(here, list):
        index = _position(here, step, path)
        return [
            _replace(each, rest, value, path) if i == index else each for i, each in enumerate(here)
        ]
    if isinstance(here, dict):
        return {**here, step: _replace(here.get(step, {}), rest, value, path)}
    raise ScenarioError(
        [Problem(path, f"leads into {show(here)}, expected a table or a list there")]
    )


def _position(items: list[Any], step: str, path: str) -> int:
    """A place in a list, by its number from 0 or by the name of the table there."""
    if step.isdecimal() and int(step) < len(items):
        return int(step)
    names = [item.get("name") for item in items if isinstance(item, dict)]
    if step in names:
        return [isinstance(item, dict) and item.get("name") == step for item in items].index(True)
    known = [*(str(i) for i in range(len(items))), *(str(name) for name in names if name)]
    raise ScenarioError([Problem(path, unknown(step, known))])
