"""Set-ups: levels of long flows under a scheme, with or without constant-rate flows."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from marqueue.scenario import Scenario, from_dict

FOLDER = Path(__file__).parent
FILE = FOLDER / "scenarios" / "levels.toml"

#: Code points of the priority levels, from the lowest, which has weight 1.
CODE_POINTS = ("DF", "AF11", "AF21", "AF31")

#: Rate of the paper's unresponsive flows.
UDP_RATE = "10 Mbit/s"


@dataclass(frozen=True)
class JudgedWindow:
    """The seconds of a run that are judged."""

    seconds: str
    """As text."""
    index: int
    """Index of the measuring window."""
    overrides: Sequence[str] = ()
    """How the set-up differs from the scenario file."""


#: By value of the reading ``window``. The paper's own seconds are the first window of the file.
WINDOWS = {
    "settled": JudgedWindow("500 to 1000 s", 1),
    "paper": JudgedWindow("0 to 500 s", 0),
    "last-100": JudgedWindow("400 to 500 s", 1, ('duration="500 s"', 'cuts=["400 s"]')),
}


@cache
def schemes() -> dict[str, dict[str, Any]]:
    """The schemes by name: label, whether they have weights, and table of parameters."""
    return tomllib.loads((FOLDER / "schemes.toml").read_text(encoding="utf-8"))


def label(scheme: str) -> str:
    """The label of a scheme in figures."""
    return str(schemes()[scheme]["label"])


def level(k: int) -> str:
    """Name of the group of flows of priority level ``k``, counted from 1."""
    return f"level {k}"


def under(
    scheme: str,
    levels: Mapping[float, int],
    *more: Mapping[str, Any],
    overrides: Sequence[str] = (),
) -> Scenario:
    """Long TCP flows under a scheme: numbers of flows by weight, from weight 1 up, and ``more``
    groups of traffic."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    [tcp] = data["traffic"]
    points = dict(zip(CODE_POINTS, levels, strict=False))
    data["traffic"] = [
        tcp | {"name": level(k), "count": count, "dscp": point}
        for k, (point, count) in enumerate(zip(points, levels.values(), strict=True), start=1)
    ] + list(more)
    aqm = dict(schemes()[scheme]["aqm"])
    if schemes()[scheme].get("weighted"):
        aqm["weights"] = {point: weight for point, weight in points.items() if weight != 1}
    data["topology"]["bottleneck"]["aqm"] = aqm
    data["name"] = f"{label(scheme)}, " + " and ".join(
        f"{count} flows of weight {weight:g}" for weight, count in levels.items()
    )
    return from_dict(data, overrides, origin=str(FILE))


def udp(count: int, rate: str = UDP_RATE, dscp: str = CODE_POINTS[1]) -> dict[str, Any]:
    """Constant-rate flows, by default of the higher of two levels."""
    return {
        "name": "udp",
        "kind": "cbr",
        "count": count,
        "rate": rate,
        "packet": "1000 B",
        "jitter": "1 s",
        "dscp": dscp,
    }


def tcp(name: str, count: int, transport: str) -> dict[str, Any]:
    """Long flows of the lowest level with another transport."""
    return {"name": name, "kind": "tcp", "count": count, "jitter": "1 s", "transport": transport}


#: With constant-rate flows p0 settles within seconds, because more packets arrive.
BESIDE_UDP = ('duration="300 s"', 'cuts=["100 s"]')
