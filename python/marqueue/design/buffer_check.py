"""Simulations of buffers: N long-lived Reno flows with round trips within ±40 %, with ECN except
under droptail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marqueue.errors import ModelError
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate
from marqueue.theory.buffer_sizing.rules import OF_ONE, A, B, Demand, red_thresholds

PACKETS = 1_200_000
"""Packets over the link in one replication, unless that is less than LEAST round trips."""

LEAST, MOST = 60.0, 400.0
"""Range of round trips in a replication; a third of them is warm-up."""

SPEED = 1e6
"""Packets that a core simulates per second, a quarter to a half of the measured rates
(docs/performance.md)."""

LIMIT = 120.0
"""Default limit of a check, s of CPU time."""

SPREAD = (0.6, 0.8, 1.0, 1.2, 1.4)
"""Round trips relative to their mean, with equal numbers of flows."""

REPLICATIONS = 4


@dataclass(frozen=True)
class Measurement:
    """The measurements of one buffer."""

    utilization: Estimate
    loss: Estimate


def check(
    demand: Demand,
    buffers: Sequence[int],
    limit: float = LIMIT,
    progress: Callable[[float, float], None] | None = None,
) -> list[Measurement]:
    """Simulates the demand with each buffer (packets). Raises :class:`ModelError` if that is likely
    to take more than ``limit`` seconds of CPU time."""
    needed = len(buffers) * REPLICATIONS * _trips(demand) * demand.pipe / SPEED
    if needed > limit:
        raise ModelError(
            f"--check: {len(buffers)} buffers, {REPLICATIONS} replications of {_trips(demand):.0f} "
            f"round trips with {demand.pipe:,.0f} packets each are likely to take a core "
            f"{_clock(needed)}, expected at most {_clock(limit)}: allow more with --check-limit, "
            "or ask for a smaller link with the same C x RTT / N"
        )
    found = []
    for result in run_each([scenario(demand, buffer) for buffer in buffers], progress=progress):
        figures = result.link("bottleneck").figures()
        found.append(Measurement(figures["utilization"], figures["loss_ratio"]))
    return found


def _trips(demand: Demand) -> float:
    """The number of round trips in a replication."""
    return min(MOST, max(LEAST, PACKETS / demand.pipe))


def _clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def scenario(demand: Demand, buffer: int) -> Scenario:
    """The scenario that checks a buffer of so many packets."""
    seconds = _trips(demand) * demand.rtt
    plain: dict[str, Any] = {
        "name": f"{buffer} packets under {demand.aqm}",
        "duration": _time(seconds),
        "warmup": _time(seconds / 3),
        "replications": REPLICATIONS,
        "topology": {
            "kind": "dumbbell",
            "rtts": [_time(demand.rtt * x) for x in SPREAD],
            "bottleneck": {
                "rate": f"{demand.capacity:.0f} bit/s",
                "delay": _time(demand.rtt / 20),
                "buffer": f"{buffer} packets",
                "signal": "drop" if demand.aqm == "droptail" else "ecn",
                "aqm": _aqm(demand, buffer),
            },
            "access": {
                "rate": f"{10 * demand.capacity:.0f} bit/s",
                "delay": _time(demand.rtt / 100),
            },
        },
        "transport": {
            "default": {
                "preset": "rfc",
                "ecn": demand.aqm != "droptail",
                "segment": f"{demand.packet - 40} B",
            }
        },
        "traffic": [
            {
                "name": "long",
                "kind": "tcp",
                "count": demand.flows,
                "jitter": _time(min(5 * demand.rtt, seconds / 10)),
            }
        ],
    }
    return from_dict(plain)


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)} us"


def _aqm(demand: Demand, buffer: int) -> dict[str, Any]:
    match demand.aqm:
        case "red":
            low, high = red_thresholds(buffer)
            return {"name": "red", "min_th": f"{low:g} packets", "max_th": f"{high:g} packets"}
        case "avq":
            return {
                "name": "avq",
                "gamma": demand.gamma,
                "buffer": f"{buffer} packets",
            }
        case "scaled":
            own = f"{OF_ONE:g} packets"
            return {"name": "scaled", "flows": demand.flows, "a": A, "b": B, "buffer": own}
        case name:
            return {"name": name}
