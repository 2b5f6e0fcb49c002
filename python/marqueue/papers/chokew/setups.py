"""Set-ups: levels of long flows under a scheme, with or without constant-rate flows."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from marqueue.papers.readings import Choice
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
    late: int
    """Index of the window from 500 to 1000 s, in which p0 has settled."""
    overrides: Sequence[str] = ()
    """How the set-up differs from the scenario file."""


#: By value of the reading ``window``. The paper's own seconds are the first window of the file.
WINDOWS = {
    "paper": JudgedWindow("0 to 500 s", 0, 1),
    "settled": JudgedWindow("500 to 1000 s", 1, 1),
    "last-100": JudgedWindow("400 to 500 s", 1, 2, ('cuts=["400 s", "500 s"]',)),
}
#: What the values of other readings change in a set-up, by reading and value.
VARIED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "access": {
        "own": (),
        "shared": ('topology.access={rate="10 Gbit/s", delay="1 ms"}',),
    },
    "steps": {
        "stated": (),
        "tenfold": ("topology.bottleneck.aqm.p_plus=0.02", "topology.bottleneck.aqm.p_minus=0.01"),
    },
    "tcp": {
        "unlimited": (),
        "window-20": ('transport.default.max_window="20 packets"',),
        "headers": ("transport.default.count_header=true",),
    },
}


def varied(choice: Choice) -> list[str]:
    """How set-ups differ from the scenario file under a choice."""
    out = list(WINDOWS[choice["window"]].overrides) if "window" in choice else []
    for reading, values in VARIED.items():
        if reading in choice:
            out += values[choice[reading]]
    return out


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
    levels: Mapping[float, int] | Sequence[tuple[float, int]],
    *more: Mapping[str, Any],
    overrides: Sequence[str] = (),
) -> Scenario:
    """Long TCP flows under a scheme: numbers of flows by weight, from weight 1 up, and ``more``
    groups of traffic. Two levels of one weight are given as pairs."""
    pairs = list(levels.items()) if isinstance(levels, Mapping) else list(levels)
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    [tcp] = data["traffic"]
    points = dict(zip(CODE_POINTS, (weight for weight, _ in pairs), strict=False))
    data["traffic"] = [
        tcp | {"name": level(k), "count": count, "dscp": point}
        for k, (point, (_, count)) in enumerate(zip(points, pairs, strict=True), start=1)
    ] + list(more)
    aqm = dict(schemes()[scheme]["aqm"])
    if schemes()[scheme].get("weighted"):
        aqm["weights"] = {point: weight for point, weight in points.items() if weight != 1}
    data["topology"]["bottleneck"]["aqm"] = aqm
    data["name"] = f"{label(scheme)}, " + " and ".join(
        f"{count} flows of weight {weight:g}" for weight, count in pairs
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


def shorter(scenario: Scenario) -> Sequence[str]:
    """How a set-up with constant-rate flows differs in the quick form."""
    return SHORTER.get(scenario.duration.seconds, ())


def tcp(name: str, count: int, transport: str) -> dict[str, Any]:
    """Long flows of the lowest level with another transport."""
    return {"name": name, "kind": "tcp", "count": count, "jitter": "1 s", "transport": transport}


#: With constant-rate flows p0 settles within seconds, because more packets arrive.
BESIDE_UDP = ('duration="300 s"', 'cuts=["100 s"]')
#: The paper's 500 s, with the same settled window.
PAPERS_UDP = ('duration="500 s"', 'cuts=["100 s", "300 s"]')
#: The same in the quick form. Beside constant-rate flows nearly all the time of a run goes into
#: arrivals that are dropped, up to 12,500 a second, and after the first ten seconds, in which p0
#: rises, they show the same again and again. By duration of the full form, s; windows keep their
#: order.
SHORTER: Mapping[float, Sequence[str]] = {
    500.0: ('duration="200 s"', 'cuts=["50 s", "150 s"]'),
    300.0: ('duration="150 s"', 'cuts=["50 s"]'),
}
#: The judged window of these, by value of the reading ``window-udp``: all, or the settled one.
WINDOWS_UDP: Mapping[str, int | None] = {"paper": None, "settled": 1}
