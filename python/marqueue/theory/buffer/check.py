"""What the simulator says of the same buffers: N long-lived Reno flows of round trips within
+-40 %, with ECN under every AQM but droptail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marqueue.errors import ModelError
from marqueue.run import run_each
from marqueue.scenario import Scenario, from_dict
from marqueue.stats import Estimate
from marqueue.theory.buffer.models import red_thresholds
from marqueue.theory.buffer.rules import OF_ONE, A, B, Demand

PACKETS = 1_200_000
"""Of the link in one replication, all time together."""

LEAST, MOST = 60.0, 400.0
"""Round trips in a replication; a third of them is warm-up."""

SPREAD = (0.6, 0.8, 1.0, 1.2, 1.4)
"""Round trips over their mean, the same number of flows each."""

REPLICATIONS = 4


@dataclass(frozen=True)
class Checked:
    """What was measured."""

    utilization: Estimate
    loss: Estimate


def check(
    demand: Demand, buffers: Sequence[int], progress: Callable[[float, float], None] | None = None
) -> list[Checked]:
    """A buffer each. Raises :class:`ModelError` if the link is too fast for a check of this size:
    fewer than LEAST round trips would say nothing."""
    scenarios = [scenario(demand, buffer) for buffer in buffers]
    found = []
    for result in run_each(scenarios, progress=progress):
        figures = result.link("bottleneck").figures()
        found.append(Checked(figures["utilization"], figures["loss_ratio"]))
    return found


def scenario(demand: Demand, buffer: int) -> Scenario:
    """The check of a buffer as a scenario."""
    trips = min(MOST, PACKETS / demand.pipe)
    if trips < LEAST:
        raise ModelError(
            f"--check: a round trip of {demand.pipe:.0f} packets leaves {trips:.0f} of them in "
            f"{PACKETS:,} packets, expected at least {LEAST:g}: ask for a smaller link with the "
            "same C x RTT / N"
        )
    seconds = trips * demand.rtt
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
