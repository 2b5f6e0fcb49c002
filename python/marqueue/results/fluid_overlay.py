"""The fluid model of a scenario beside its simulation: time series of both, and the errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marqueue.errors import ModelError, show
from marqueue.results.data import ResultData
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.theory.fluid.from_scenario import describe
from marqueue.theory.fluid.solution import Fluid, FluidLink, solve_fluid

QUANTITIES = {
    "queue": ("Queue", "packets"),
    "probability": ("Marked or lost", ""),
    "window": ("Window", "packets"),
}
"""The quantities that are compared, with label and unit."""


@dataclass(frozen=True)
class Series:
    """One quantity at one link."""

    times: Floats
    """Shape ``(times,)``, s."""
    packets: Floats
    """The simulation, shape ``(replications, times)``."""
    fluid: Floats
    """The model, shape ``(times,)``."""


@dataclass(frozen=True)
class Error:
    """The error of the model over the measured time."""

    packets: Estimate
    """Time average of the simulation, estimated over replications."""
    fluid: float
    """Time average of the model."""
    rms: float
    """Root mean square over time of the model minus the mean of all replications."""
    within: float
    """Share of the time in which the model is within the range of the replications."""

    @property
    def difference(self) -> float:
        """Difference of the time averages: model minus simulation."""
        return self.fluid - self.packets.mean

    @property
    def relative(self) -> float | None:
        """The difference relative to the simulation; None if that is zero."""
        return self.difference / self.packets.mean if self.packets.mean else None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "packets": {"mean": self.packets.mean, "half_width": self.packets.half_width},
            "fluid": self.fluid,
            "difference": self.difference,
            "relative": self.relative,
            "rms": self.rms,
            "within_range": self.within,
        }


def refuse_without_theory(scenario: Scenario) -> None:
    """Checks that a scenario can be compared with its fluid model.

    Raises ScenarioError if the scenario is outside the model, ModelError if it has no time series.
    """
    describe(scenario)
    if not scenario.sample.base:
        raise ModelError(
            f"sample: got {show(str(scenario.sample))}, expected a time series to compare with "
            "the fluid model"
        )


class Overlay:
    """The fluid model beside a result.

    Raises ScenarioError or ModelError if the scenario has no fluid model or no time series.
    """

    def __init__(self, result: ResultData, model: Fluid | None = None) -> None:
        self.result = result
        scenario = result.checked_scenario
        refuse_without_theory(scenario)
        self.fluid = model or solve_fluid(scenario)

    @property
    def links(self) -> list[str]:
        """The links that both have."""
        return [name for name in self.result.links if name in self.fluid.links]

    @cached_property
    def series(self) -> Mapping[str, Mapping[str, Series]]:
        """The series by link and quantity."""
        return {name: dict(self._of(name, self.fluid.links[name])) for name in self.links}

    def _of(self, name: str, model: FluidLink) -> list[tuple[str, Series]]:
        link = self.result.link(name)
        t, queue = link.series("queue")
        capacity = np.interp(t, self.fluid.times, model.capacity)
        step = np.diff(t, prepend=0.0)
        served = link.series("utilization")[1] * capacity * step
        hit = link.series("marks")[1] + (drops := link.series("drops")[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.where(served + drops > 0, hit / (served + drops), 0.0)
        made = {"queue": (queue, model.queue), "probability": (p, model.probability)}
        if len(self.fluid.links) == 1:
            made["window"] = (self._window(t, queue / capacity, served / step), self.fluid.window)
        return [
            (quantity, Series(t, packets, np.interp(t, self.fluid.times, of_model)))
            for quantity, (packets, of_model) in made.items()
        ]

    def _window(self, t: Floats, delay: Floats, served: Floats) -> Floats:
        """The window of each flow, if all are equal: the rates window / RTT add up to the rate that
        the link serves (Little's law)."""
        per_window = np.zeros_like(served)
        for each, of in zip(
            self.fluid.classes.values(), self.fluid.model.description["classes"], strict=True
        ):
            count = np.interp(t, self.fluid.times, each.count)
            per_window += count / (of["rtt"] + delay)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(per_window > 0, served / per_window, np.nan)

    @cached_property
    def errors(self) -> Mapping[str, Mapping[str, Error]]:
        """The errors over the measured time, by link and quantity."""
        return {
            name: {
                quantity: error
                for quantity, each in of.items()
                if (error := self._error(each)) is not None
            }
            for name, of in self.series.items()
        }

    def _error(self, series: Series) -> Error | None:
        """The error; None if no sample is common to all replications."""
        at = (series.times > self.result.warmup) & np.isfinite(series.packets).all(axis=0)
        packets, model = series.packets[:, at], series.fluid[at]
        if not at.any():
            return None
        mean = packets.mean(axis=0)
        within = (packets.min(axis=0) <= model) & (model <= packets.max(axis=0))
        return Error(
            Estimate.of(packets.mean(axis=1)),
            float(model.mean()),
            float(np.sqrt(((model - mean) ** 2).mean())),
            float(within.mean()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Source, warnings and errors, ready for JSON."""
        return {
            "source": self.fluid.source,
            "warnings": list(self.fluid.warnings),
            "errors": {
                name: {quantity: error.to_dict() for quantity, error in of.items()}
                for name, of in self.errors.items()
            },
        }
