"""Reading scenarios from files, texts and dicts, with overrides of single values."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from marqueue.errors import Problem, ScenarioError, show, unknown, with_names
from marqueue.garbage_collector import paused_collector
from marqueue.scenario.compiler import plan_text
from marqueue.scenario.delay_columns import with_columns
from marqueue.scenario.delivery_trace import with_traces
from marqueue.scenario.model import Scenario
from marqueue.scenario.network_file import names_files
from marqueue.scenario.problems import problems
from marqueue.scenario.program import with_programs
from marqueue.scenario.recording import with_recordings
from marqueue.scenario.source_text import origin_of, read_scenario
from marqueue.scenario.syntax import TOO_DEEP, read_toml

_OPEN_NUMBER = re.compile(r"[+-]?(\d+\.|\.\d+)([eE][+-]?\d+)?")
"""Numbers that people write and TOML refuses: ``.5`` and ``5.``."""


_NAME_OR_TABLE = {"aqm", "control", "inner"}
"""Keys whose value is a name, or a table with that name and settings."""


def load(path: Path | str, overrides: Iterable[str] = ()) -> Scenario:
    """Reads a scenario from a TOML file, a pipe, or standard input as ``-``, of at most 64 MiB.

    ``overrides`` replace single values, each written as ``"path=value"``; quantities have units,
    and entries of a list are addressed by their index from 0 or by name. Raises ScenarioError with
    all problems: the path of each key, the value and what was expected. A missing file is one too.

    >>> from marqueue import load
    >>> scenario = load("scenarios/dumbbell.toml", ["topology.bottleneck.delay=5 ms", "seed=7"])
    >>> scenario.topology.bottleneck.delay.seconds
    0.005
    """
    folder = Path() if origin_of(path) != str(path) else Path(path).parent
    return _from_text(read_scenario(path), overrides, origin_of(path), folder, with_programs)


def from_toml(text: str, overrides: Iterable[str] = (), origin: str = "scenario") -> Scenario:
    """Reads a scenario from a text in TOML.

    ``overrides`` are as for :func:`load`; ``origin`` begins each error message. Raises
    ScenarioError.
    """
    return _from_text(text, overrides, origin, Path(), None)


Completion = Callable[[dict[str, Any], Path, str], dict[str, Any]]
"""Adds to the tables of a scenario what is in files of a folder; called with the origin too, for
messages."""


@paused_collector()
def _from_text(
    text: str, overrides: Iterable[str], origin: str, folder: Path, complete: Completion | None
) -> Scenario:
    try:
        data = read_toml(text)
    except ValueError as error:
        raise ScenarioError([Problem("", f"not TOML: {error}")], origin) from None
    try:
        overrides = list(overrides)
        data = with_traces(with_columns(data, folder, origin), folder, origin)
        data = with_recordings(data, folder, origin)
        data, overrides = _with_network(data, overrides, folder, origin)
        if complete is not None:
            for override in overrides:
                data = _override(data, override)
            data, overrides = complete(data, folder, origin), ()
    except ScenarioError as error:
        raise ScenarioError(error.problems, origin) from None
    except RecursionError:
        raise ScenarioError([Problem("", TOO_DEEP)], origin) from None
    return from_dict(data, overrides, origin)


def _with_network(
    data: dict[str, Any], overrides: list[str], folder: Path, origin: str
) -> tuple[dict[str, Any], list[str]]:
    """The scenario with the network of a file, if it names one, and the overrides that are still to
    be applied: those of single links and classes, which the file may have."""
    later = [each for each in overrides if each.lstrip().startswith(_OF_NETWORK)]
    first = data
    for override in overrides:
        if override not in later:
            first = _override(first, override)
    if not names_files(first):
        return data, overrides
    from marqueue.scenario.network_file.expansion import with_network_file

    return with_network_file(first, folder, origin), later


_OF_NETWORK = ("topology.links.", "topology.classes.")


@paused_collector()
def from_dict(
    data: dict[str, Any], overrides: Iterable[str] = (), origin: str = "scenario"
) -> Scenario:
    """Makes a scenario from nested dicts and lists, such as those that TOML or JSON contain.

    Quantities are texts with units, as in a file. ``overrides`` are as for :func:`load`; ``origin``
    begins each error message. Raises ScenarioError with all problems.

    >>> from marqueue import from_dict
    >>> scenario = from_dict({
    ...     "name": "Ten flows",
    ...     "duration": "20 s",
    ...     "topology": {
    ...         "kind": "dumbbell",
    ...         "rtts": ["40 ms", "80 ms"],
    ...         "bottleneck": {"rate": "10 Mbit/s", "delay": "5 ms", "buffer": "100 packets"},
    ...     },
    ...     "traffic": [{"kind": "tcp", "count": 10}],
    ... })
    >>> scenario.duration.seconds, str(scenario.topology.bottleneck.rate)
    (20.0, '10 Mbit/s')
    >>> from_dict(scenario.to_dict(), ["topology.bottleneck.buffer=a few"])
    Traceback (most recent call last):
    ...
    marqueue.errors.ScenarioError: scenario: topology.bottleneck.buffer: got "a few", expected ...
    """
    try:
        for override in overrides:
            data = _override(data, override)
        scenario = Scenario.model_validate(data)
        plan_text(scenario)
    except ValidationError as error:
        raise ScenarioError(with_names(problems(error, Scenario, data), data), origin) from None
    except ScenarioError as error:
        raise ScenarioError(error.problems, origin) from None
    except RecursionError:
        raise ScenarioError([Problem("", TOO_DEEP)], origin) from None
    return scenario


def with_overrides(scenario: Scenario, overrides: Iterable[str]) -> Scenario:
    """A copy of a scenario with single values replaced, each written as ``"path=value"``.

    Raises ScenarioError.

    >>> from marqueue import load, with_overrides
    >>> pie = with_overrides(load("scenarios/dumbbell.toml"), ["topology.bottleneck.aqm=pie"])
    >>> pie.topology.bottleneck.aqm.name
    'pie'
    """
    return from_dict(scenario.to_dict(), overrides)


def _override(data: dict[str, Any], override: str) -> dict[str, Any]:
    """A copy with one value replaced. A value that is not valid TOML is taken as text."""
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
    replaced = _replace(data, steps, read_value(text.strip()), path)
    assert isinstance(replaced, dict)
    return replaced


def read_value(text: str) -> object:
    """A value as TOML has it, or a number without a digit before or after its point; what is
    neither is taken as text."""
    try:
        return read_toml(f"value = {text}")["value"]
    except ValueError:
        return float(text) if _OPEN_NUMBER.fullmatch(text) else text


def _replace(here: object, steps: list[str], value: object, path: str) -> object:
    """A copy of ``here`` with ``value`` at the path ``steps``. Missing tables are added."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(here, list):
        index = _position(here, step, path)
        return [
            _replace(each, rest, value, path) if i == index else each for i, each in enumerate(here)
        ]
    if isinstance(here, dict):
        inner = here.get(step, {})
        if rest and step in _NAME_OR_TABLE and isinstance(inner, str):
            inner = {"name": inner}
        return {**here, step: _replace(inner, rest, value, path)}
    raise ScenarioError(
        [Problem(path, f"leads into {show(here)}, expected a table or a list there")]
    )


def _position(items: list[Any], step: str, path: str) -> int:
    """The index of a list entry that is given by its index or by its name."""
    if step.isdecimal() and int(step) < len(items):
        return int(step)
    names = [item.get("name") for item in items if isinstance(item, dict)]
    if step in names:
        return [isinstance(item, dict) and item.get("name") == step for item in items].index(True)
    known = [*(str(i) for i in range(len(items))), *(str(name) for name in names if name)]
    raise ScenarioError([Problem(path, unknown(step, known))])
