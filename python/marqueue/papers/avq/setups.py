"""Set-ups: scenario files, under AVQ and under the schemes compared with it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario, from_dict

FOLDER = Path(__file__).parent

AVQ = "AVQ"

#: The scheme with PI's gains, by value of the reading `pi-gains`.
PI = {"design-rule": "pi", "published": "pi-published"}


@cache
def schemes() -> dict[str, dict[str, Any]]:
    """The compared schemes by name: a label, and keys of the bottleneck."""
    return tomllib.loads((FOLDER / "schemes.toml").read_text(encoding="utf-8"))


def label(scheme: str) -> str:
    """The label of a scheme in figures."""
    return AVQ if scheme == "avq" else str(schemes()[scheme]["label"])


def scenario(file: str, *overrides: str, bottleneck: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file, with replaced keys of the bottleneck and other values."""
    path = FOLDER / "scenarios" / f"{file}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    data["topology"]["bottleneck"] |= bottleneck or {}
    return from_dict(data, overrides, origin=str(path))


def under(file: str, scheme: str, *overrides: str) -> Scenario:
    """The scenario of a file, with another scheme in place of AVQ."""
    if scheme == "avq":
        return scenario(file, *overrides)
    keys = {key: value for key, value in schemes()[scheme].items() if key != "label"}
    named = f"name={scenario(file).name}, {label(scheme)}"
    return scenario(file, named, *overrides, bottleneck=keys)


def read(scheme: str, choice: Choice) -> str:
    """The scheme under a choice: PI has one of two pairs of gains."""
    return PI[choice["pi-gains"]] if scheme == "pi" else scheme


def handshake(choice: Choice, *transports: str) -> list[str]:
    """Overrides for connections that begin with or without an exchange of SYNs."""
    if choice["syn"] == "exchanged":
        return []
    return [f"transport.{each}.handshake=false" for each in ("default", *transports)]
