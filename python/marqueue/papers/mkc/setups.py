"""Set-ups: scenario files, and the same with other flows, routers and links."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue.scenario import Scenario, from_dict

FOLDER = Path(__file__).parent

#: Packet size of section 6, Mbit.
PACKET = 200 * 8e-6


def table(file: str) -> dict[str, Any]:
    """The tables of a scenario file."""
    path = FOLDER / "scenarios" / f"{file}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def built(data: Mapping[str, Any], name: str, overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of tables, with a name and overrides."""
    return from_dict({**data, "name": name}, overrides, origin=name)


def flow(law: str, **parameters: object) -> dict[str, Any]:
    """A rate law with its parameters."""
    return {"name": law, **parameters}


def emkc(alpha: str, beta: float) -> dict[str, Any]:
    """EMKC with these parameters."""
    return flow("emkc", alpha=alpha, beta=beta)


def one_link(
    name: str,
    control: Mapping[str, Any],
    *,
    rates: Sequence[str] = ("125 kbit/s",),
    rtts: Sequence[str] = ("50 ms",),
    each: Sequence[int] = (),
    packet: str = "200 B",
    overrides: Sequence[str] = (),
    **bottleneck: object,
) -> Scenario:
    """Flows of one law on one link. Each entry of ``rates`` is the initial rate of a group with its
    own round-trip time. ``each`` is the number of flows of a group, by default one; only single
    flows are traced. ``bottleneck`` replaces keys of the link."""
    data = table("one-link")
    [first] = data["traffic"]
    data["topology"]["rtts"] = list(dict.fromkeys(rtts))
    data["topology"]["bottleneck"] |= bottleneck
    data["traffic"] = [
        first
        | {"name": str(i), "control": dict(control), "rate": rate}
        | {"packet": packet, "classes": [rtt], "count": count, "trace": not each}
        for i, (rate, rtt, count) in enumerate(
            zip(rates, rtts, each or [1] * len(rates), strict=True), start=1
        )
    ]
    return built(data, name, overrides)
