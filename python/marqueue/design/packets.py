"""A design tried out with packets: its gain, and one beyond the boundary.

What swings is looked for in the arrival rate, near the frequency of the root that crosses the
boundary: from half of that, below which chance makes any queue wander that is controlled slowly, to
three times that, which leaves out the bursts that come back every round trip. The replications of
both sides share their random numbers, and are compared in pairs
(:mod:`marqueue.results.comparison`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from marqueue.design.design import Design
from marqueue.errors import ModelError
from marqueue.results import CONFIDENCE, Figure, Result, Subject, Window
from marqueue.results.comparison import Difference, compare
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate, Floats

REPLICATIONS = 3
#: A run warms up until the linear model has settled by e to this. It is measured for so many
#: periods of the boundary's oscillation.
FOLD, PERIODS = 5.0, 20.0
#: Of a replication; some seconds of computing.
MOST_PACKETS = 5_000_000
#: What swings, between these multiples of the boundary's frequency, of which a period has so many
#: samples.
FROM, TO, SAMPLES = 0.5, 3.0, 16
#: How far inside the boundary runs are where those of the design would be too long.
FARTHEST = 4.0
FIGURES = ("queue_std", "queue_mean", "utilization")


def _nothing(_: Window) -> float:
    raise AssertionError("a swing is of a series, not of a window")


SWING: Figure[Window] = Figure("arrival_swing", "Swing of arrivals over capacity", "", _nothing)
"""The standard deviation of the arrival rate over capacity, between those frequencies."""


@dataclass(frozen=True)
class Experiment:
    """A setting as packets."""

    parts: Mapping[str, Any]
    """The topology, transport and traffic of a scenario."""
    link: str
    """Where it is watched."""
    load: float
    """Packets/s that are simulated."""
    beyond: float
    """How far beyond the boundary the other side is, as a factor."""
    warmup: float
    """s: the least."""
    measured: float
    """s: the least."""
    step: float = 1.0
    """s, of the unit of time in which the model's roots are."""


class Simulable(Protocol):
    """A setting that packets can have."""

    def experiment(self) -> Experiment:
        """Raises :class:`ModelError` where packets cannot be as the model is."""
        ...


@dataclass(frozen=True)
class Packets:
    """Both sides by packets."""

    inside: float
    """The designed quantity, as designed or, where runs of that would be too long, a factor of
    :data:`FARTHEST` inside the boundary."""
    beyond: float
    """The same beyond the boundary."""
    frequency: float
    """That of the boundary's root, rad/s."""
    figures: tuple[Difference, ...]
    """Of inside (A) and beyond (B): queue_std, queue_mean, utilization, arrival_swing."""

    @property
    def verdict(self) -> str:
        """Whether arrivals swing more beyond the boundary: ``more``, ``less`` or ``no
        difference``, by the 95% interval of the difference of their swing."""
        swing = self.figures[-1]
        if not swing.excludes_zero:
            return "no difference"
        return "more" if swing.difference.mean > 0 else "less"


def by_packets(design: Design, progress: Progress | None = None) -> Packets:
    """Runs the design and the same with the quantity beyond the boundary, or as far as it has a
    meaning.

    Raises :class:`ModelError` if there is no boundary, if there are no packets of that kind, or if
    runs would be too long.
    """
    factor = _experiment(design.setting).beyond
    if design.boundary is None:
        raise ModelError("packets: got a design without a boundary in reach, expected two sides")
    out = factor if design.side == "below" else 1 / factor
    beyond = min(design.boundary * out, design.largest)
    inside = design.chosen
    if _too_long(design, inside) is not None:
        inside = design.boundary / (FARTHEST if design.side == "below" else 1 / FARTHEST)
    if (long := _too_long(design, inside)) is not None:
        raise ModelError(long)
    values = inside, beyond
    warmup, measured = _times(design, inside)
    experiments = [_experiment(design.at(value)) for value in values]
    frequency = _frequency(design) / experiments[0].step
    scenarios = [scenario(each, warmup, measured, frequency) for each in experiments]
    a, b = run_each(scenarios, progress=progress)
    link = experiments[0].link
    found = {each.figure.name: each for each in compare(a, b).by_link()[link]}
    swings = swing(a, link, frequency), swing(b, link, frequency)
    of_swing = Difference(
        Subject("link", link),
        SWING,
        *(Estimate.of(each, CONFIDENCE) for each in (*swings, swings[1] - swings[0])),
    )
    return Packets(*values, frequency, (*(found[name] for name in FIGURES), of_swing))


def swing(result: Result, link: str, frequency: float) -> Floats:
    """The standard deviation of a link's arrival rate over its capacity between :data:`FROM` and
    :data:`TO` times a frequency, rad/s, of each replication, after the warm-up."""
    at = result.link(link)
    t, queue = at.series("queue")
    # Packets/s of a link or a CPU that is busy all the time.
    served = [w.departures / w.seconds * w.capacity / w.used for w in at.windows()]
    capacity = np.array(served)[:, np.newaxis]
    step = float(t[1] - t[0])
    waiting = np.diff(queue, axis=1, prepend=0.0) + at.series("drops")[1]
    arrivals = at.series("utilization")[1] + waiting / (capacity * step)
    arrivals = arrivals[:, t > result.warmup]
    power = np.abs(np.fft.rfft(arrivals - arrivals.mean(axis=1, keepdims=True), axis=1)) ** 2
    at_rate = 2 * math.pi * np.fft.rfftfreq(arrivals.shape[1], step)
    within = (frequency * FROM < at_rate) & (at_rate < frequency * TO)
    # Parseval: every frequency but the first and the last is there twice.
    return np.asarray(np.sqrt(2 * power[:, within].sum(axis=1)) / arrivals.shape[1])


def _experiment(setting: Any) -> Experiment:
    of: Simulable = setting
    return of.experiment()


def _frequency(design: Design) -> float:
    """Of the boundary's root, in the design's unit of time."""
    assert design.boundary is not None
    return abs(complex(design.at(design.boundary).root).imag)


def _times(design: Design, inside: float) -> tuple[float, float]:
    """Seconds of warm-up and of measuring, the same for both sides."""
    setting = design.at(inside)
    of = _experiment(setting)
    warmup = max(FOLD / abs(complex(setting.root).real) * of.step, of.warmup)
    swings = _frequency(design)
    measured = max(PERIODS * 2 * math.pi / swings * of.step if swings else 0.0, of.measured)
    return warmup, measured


def _too_long(design: Design, inside: float) -> str | None:
    warmup, measured = _times(design, inside)
    packets = _experiment(design.setting).load * (warmup + measured)
    if packets <= MOST_PACKETS:
        return None
    return (
        f"packets: a replication would take {warmup:.4g} s to settle and {measured:.4g} s to "
        f"measure, {packets:.3g} packets, expected at most {MOST_PACKETS:.3g}"
    )


def scenario(of: Experiment, warmup: float, measured: float, frequency: float) -> Scenario:
    """What is run: seconds of warm-up and of measuring, with samples for swings near a frequency,
    rad/s."""
    return from_dict(
        {
            "name": "Design",
            "duration": f"{warmup + measured:.9f} s",
            "warmup": f"{warmup:.9f} s",
            "sample": f"{2 * math.pi / frequency / SAMPLES:.9f} s",
            "seed": 1,
            "replications": REPLICATIONS,
            **of.parts,
        }
    )
