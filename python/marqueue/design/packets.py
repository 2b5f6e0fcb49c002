"""Checks a design with packets: one run at the design, and one beyond the boundary.

Oscillations are measured in the arrival rate near the frequency of the root that crosses the
boundary: from half of it, because slow random fluctuations are below, to three times it, because
bursts with the period of a round trip are above. The replications of both sides share their random
numbers and are compared in pairs (:mod:`marqueue.results.comparison`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from marqueue.design.design import Design
from marqueue.design.python_aqm import PythonAqm
from marqueue.errors import ModelError
from marqueue.results import CONFIDENCE, Figure, Result, Subject, Window
from marqueue.results.comparison import Difference, compare
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate, Floats

REPLICATIONS = 3
#: The warm-up lasts until the linear model has settled by e^FOLD; the measured time has PERIODS
#: periods of the oscillation at the boundary.
FOLD, PERIODS = 5.0, 20.0
#: Packets of a replication; some seconds of CPU time.
MOST_PACKETS = 5_000_000
#: The band of oscillations as multiples of the boundary's frequency, and the samples per period.
FROM, TO, SAMPLES = 0.5, 3.0, 16
#: Factor inside the boundary at which packets run if the design would take too long.
FARTHEST = 4.0
FIGURES = ("queue_std", "queue_mean", "utilization")


def _nothing(_: Window) -> float:
    raise AssertionError("a swing is of a series, not of a window")


SWING: Figure[Window] = Figure("arrival_swing", "Swing of arrivals over capacity", "", _nothing)
"""The standard deviation of the arrival rate over capacity, between those frequencies."""


@dataclass(frozen=True)
class Experiment:
    """The packet simulation of a setting."""

    parts: Mapping[str, Any]
    """The topology, transport and traffic of a scenario."""
    link: str
    """The link that is measured."""
    load: float
    """Simulated packets/s."""
    beyond: float
    """Factor beyond the boundary of the unstable side."""
    warmup: float
    """The least warm-up, s."""
    measured: float
    """The least measured time, s."""
    step: float = 1.0
    """The unit of time of the model's roots, s."""


class Simulable(Protocol):
    """A setting with a packet simulation."""

    def experiment(self) -> Experiment:
        """The packet simulation. Raises :class:`ModelError` if packets cannot follow the model."""
        ...


@dataclass(frozen=True)
class Packets:
    """The result of both packet simulations."""

    inside: float
    """The designed quantity: the design, or :data:`FARTHEST` inside the boundary if that would take
    too long."""
    beyond: float
    """The designed quantity beyond the boundary."""
    frequency: float
    """The frequency of the root at the boundary, rad/s."""
    figures: tuple[Difference, ...]
    """Inside (A) and beyond (B): queue_std, queue_mean, utilization, arrival_swing."""

    @property
    def verdict(self) -> str:
        """Whether arrivals oscillate more beyond the boundary: ``more``, ``less`` or ``no
        difference``, by the 95% interval of the difference."""
        swing = self.figures[-1]
        if not swing.excludes_zero:
            return "no difference"
        return "more" if swing.difference.mean > 0 else "less"


def by_packets(
    design: Design, progress: Progress | None = None, python_aqm: PythonAqm | None = None
) -> Packets:
    """Simulates packets at the design and beyond the boundary, with a class in Python in place of
    the designed AQM if there is one.

    Raises :class:`ModelError` if there is no boundary, if the setting has no packet simulation, or
    if the runs would be too long.
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
    if python_aqm is not None:
        experiments = [
            replace(each, parts=python_aqm.in_parts(each.parts, each.link)) for each in experiments
        ]
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
    """The frequency of the boundary's root, per unit of time of the design."""
    assert design.boundary is not None
    return abs(complex(design.at(design.boundary).root).imag)


def _times(design: Design, inside: float) -> tuple[float, float]:
    """The warm-up and the measured time of both sides, s."""
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
    """The scenario of a packet simulation: times in s, samples for oscillations at a frequency
    (rad/s)."""
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
