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
#: Overrides of AVQ, by value of the reading `adaptation`.
ADAPTATION = {
    "every-packet": (),
    "every-7": ("topology.bottleneck.aqm.adapt_every=7 packets",),
    "every-100": ("topology.bottleneck.aqm.adapt_every=100 packets",),
}
#: Overrides of GKVQ, by value of the reading `gkvq-buffer`.
GKVQ_BUFFER = {"90": (), "45": ("topology.bottleneck.aqm.buffer=45 packets",)}


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


def under(file: str, scheme: str, choice: Choice, *overrides: str) -> Scenario:
    """The scenario of a file, with a scheme as the choice reads it."""
    if scheme == "avq":
        return scenario(file, *adaptation(choice), *overrides)
    if scheme == "gkvq":
        overrides = (*GKVQ_BUFFER[choice["gkvq-buffer"]], *overrides)
    read = PI[choice["pi-gains"]] if scheme == "pi" else scheme
    keys = {key: value for key, value in schemes()[read].items() if key != "label"}
    named = f"name={scenario(file).name}, {label(read)}"
    return scenario(file, named, *overrides, bottleneck=keys)


def adaptation(choice: Choice) -> tuple[str, ...]:
    """Overrides for how often AVQ's virtual capacity adapts."""
    return ADAPTATION[choice["adaptation"]]


def handshake(choice: Choice, *transports: str) -> list[str]:
    """Overrides for connections that begin with or without an exchange of SYNs."""
    if choice["syn"] == "exchanged":
        return []
    return [f"transport.{each}.handshake=false" for each in ("default", *transports)]
