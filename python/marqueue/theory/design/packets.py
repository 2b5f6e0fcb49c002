"""A design of an AQM for TCP tried out with packets: its gain, and one well beyond the boundary.

N long Reno flows with ECN over a dumbbell with the model's round trip, ns-2's TCP, packets of 1000
bytes (only packets/s matter to the models). The replications of both sides share their random
numbers, and are compared in pairs (:mod:`marqueue.compare`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from marqueue.compare import Difference, compare
from marqueue.errors import ModelError
from marqueue.pool import Progress
from marqueue.run import run_each
from marqueue.scenario import Scenario, from_dict
from marqueue.theory.design.design import Design

#: How far beyond the boundary, as a factor.
BEYOND = 4.0
REPLICATIONS = 3
#: A run warms up until the linear model has settled by e to this, and for so many seconds at least:
#: slow start drives an integrator to a probability that slow gains take minutes to come down from.
#: It is measured for so many periods of the boundary's oscillation, and so many seconds at least.
FOLD, SLOW_START, PERIODS, LEAST = 5.0, 300.0, 20.0, 300.0
#: Of a replication; some seconds of computing.
MOST_PACKETS = 5_000_000
PACKET_BYTES = 1000
FIGURES = ("queue_std", "queue_mean", "utilization")


class OverTcp(Protocol):
    """A setting of an AQM that a scenario can have."""

    capacity: float
    flows: float
    rtt: float

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a scenario has it."""
        ...

    @property
    def settled_queue(self) -> float:
        """Packets at the equilibrium; the round trip includes them."""
        ...


@dataclass(frozen=True)
class Packets:
    """Both sides by packets."""

    inside: float
    """The designed quantity, as designed."""
    beyond: float
    """The same beyond the boundary."""
    figures: tuple[Difference, ...]
    """Of inside (A) and beyond (B): queue_std, queue_mean, utilization."""

    @property
    def verdict(self) -> str:
        """Whether the queue swings more beyond the boundary: ``more``, ``less`` or ``no
        difference``, by the 95% interval of the difference of its standard deviation."""
        swing = self.figures[0]
        if not swing.excludes_zero:
            return "no difference"
        return "more" if swing.difference.mean > 0 else "less"


def by_packets(design: Design, progress: Progress | None = None) -> Packets:
    """Runs the design and the same with the quantity :data:`BEYOND` times beyond the boundary, or
    as far as it has a meaning.

    Raises :class:`ModelError` if there is no boundary, or if runs would be too long.
    """
    if design.boundary is None:
        raise ModelError("packets: got a design without a boundary in reach, expected two sides")
    out = design.boundary * BEYOND if design.side == "below" else design.boundary / BEYOND
    values = design.chosen, min(out, design.largest)
    warmup, measured = _times(design)
    a, b = run_each(
        [_scenario(design.at(value), warmup, measured) for value in values], progress=progress
    )
    found = {each.figure.name: each for each in compare(a, b).differences}
    return Packets(*values, tuple(found[name] for name in FIGURES))


def _times(design: Design) -> tuple[float, float]:
    """Seconds of warm-up and of measuring, the same for both sides."""
    assert design.boundary is not None
    swing = abs(complex(design.at(design.boundary).root).imag)
    warmup = max(FOLD / abs(design.root.real), SLOW_START)
    measured = max(PERIODS * 2 * math.pi / swing if swing else 0.0, LEAST)
    packets = design.setting.capacity * (warmup + measured)
    if packets > MOST_PACKETS:
        raise ModelError(
            f"packets: a replication would take {warmup:.4g} s to settle and {measured:.4g} s to "
            f"measure, {packets:.3g} packets, expected at most {MOST_PACKETS:.3g}"
        )
    return warmup, measured


def _scenario(setting: OverTcp, warmup: float, measured: float) -> Scenario:
    propagation = setting.rtt - setting.settled_queue / setting.capacity
    # No packet is to be lost: twice what windows hold at the equilibrium, and twice its queue.
    room = math.ceil(2 * (setting.rtt * setting.capacity + setting.settled_queue))
    return from_dict(
        {
            "name": f"Design of {setting.aqm['name']}",
            "duration": f"{warmup + measured:.3f} s",
            "warmup": f"{warmup:.3f} s",
            "seed": 1,
            "replications": REPLICATIONS,
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{propagation:.9f} s"],
                # Access links have no queue of their own to speak of.
                "access": {"rate": "100 Gbit/s", "delay": f"{propagation / 8:.9f} s"},
                "bottleneck": {
                    "rate": f"{setting.capacity * 8 * PACKET_BYTES:.0f} bit/s",
                    "delay": f"{propagation / 8:.9f} s",
                    "buffer": f"{room} packets",
                    "packet": f"{PACKET_BYTES} B",
                    "signal": "ecn",
                    "aqm": setting.aqm,
                },
            },
            "transport": {
                "default": {"preset": "ns2", "ecn": True, "segment": f"{PACKET_BYTES} B"}
            },
            "traffic": [{"name": "long", "kind": "tcp", "count": max(round(setting.flows), 1)}],
        }
    )
