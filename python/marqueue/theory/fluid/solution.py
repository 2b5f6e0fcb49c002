"""The solution of a scenario's fluid model, with names and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marqueue.errors import ModelError
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.from_scenario import Source, describe
from marqueue.theory.fluid.model import TOLERANCE, Description, Model, Solution
from marqueue.theory.fluid.warnings import model_warnings
from marqueue.units import Duration

if TYPE_CHECKING:
    from marqueue.theory.linear.margins import Margins
    from marqueue.theory.linear.model import Linearized

SAMPLES = 1000
"""Number of samples if the scenario has no time series."""


@dataclass(frozen=True)
class FluidLink:
    """A link over time; all arrays ``(times,)``."""

    name: str
    queue: Floats
    """Queue, packets."""
    arrivals: Floats
    """Packets/s."""
    capacity: Floats
    """Packets/s."""
    marked: Floats
    """Share of arrivals that the AQM marks or drops."""
    lost: Floats
    """Share of the packets admitted by the AQM that find the buffer full."""
    price: Floats
    """The price that an MKC router writes into packets."""
    phi: Floats
    """DRQ's pre-marking probability."""

    @property
    def probability(self) -> Floats:
        """Share of arrivals that is marked or lost, by the AQM or the buffer."""
        return 1 - (1 - self.marked) * (1 - self.lost)

    @property
    def delay(self) -> Floats:
        """Queueing delay, s."""
        return self.queue / self.capacity

    @property
    def utilization(self) -> Floats:
        """Share of the capacity in use: 1 while the queue is not empty."""
        idle = np.minimum(self.arrivals / self.capacity, 1.0)
        return np.where(self.queue > 0, 1.0, idle)


@dataclass(frozen=True)
class FluidClass:
    """One flow of a class of identical flows over time; all arrays ``(times,)``."""

    name: str
    window: Floats
    """Packets."""
    rate: Floats
    """Packets/s."""
    rtt: Floats
    """Round-trip time with queueing, s."""
    congestion_signal: Floats
    """Congestion signal that the flow receives: share of its packets that were marked or lost."""
    count: Floats
    """Number of active flows."""


@dataclass(frozen=True)
class Fluid:
    """The solution of the fluid model of a scenario."""

    scenario: Scenario
    source: Source
    """The equation for TCP."""
    model: Model
    times: Floats
    """s."""
    warmup: float
    """Start of the time over which means are taken, s."""
    solution: Solution
    links: Mapping[str, FluidLink]
    classes: Mapping[str, FluidClass]
    warnings: tuple[str, ...]
    """Reasons why the model may not hold for this scenario."""

    def linearize(self) -> Linearized:
        """The linearization of the same equations at their equilibrium, with roots. Raises
        :class:`ModelError` if there is no equilibrium."""
        from marqueue.theory.linear.model import linearize

        return linearize(self.scenario, self.source)

    def margins(self) -> Margins | None:
        """Gain, phase and delay margins of :meth:`linearize`."""
        return self.linearize().margins()

    def link(self, name: str | None = None) -> FluidLink:
        """A link; without a name, the only link."""
        if name is None and len(self.links) == 1:
            return next(iter(self.links.values()))
        if name is None or name not in self.links:
            raise KeyError(f"link {name!r}, expected one of: {', '.join(self.links)}")
        return self.links[name]

    @property
    def queue(self) -> Floats:
        """Queue of the only link, packets."""
        return self.link().queue

    @property
    def probability(self) -> Floats:
        """Share of arrivals that is marked or lost, at the only link."""
        return self.link().probability

    @property
    def window(self) -> Floats:
        """Mean window of all active flows, packets; NaN without any."""
        return _mean([(each.window, each.count) for each in self.classes.values()])

    @property
    def measured(self) -> npt.NDArray[np.bool_]:
        """True for times after the warm-up, ``(times,)``."""
        return np.asarray(self.times >= self.warmup, dtype=bool)

    def means(self) -> dict[str, Any]:
        """Means after the warm-up, for JSON."""
        at = self.measured
        return {
            "links": {
                name: {
                    "queue_mean_packets": _float(link.queue[at].mean()),
                    "queue_std_packets": _float(link.queue[at].std()),
                    "delay_mean_s": _float(link.delay[at].mean()),
                    "probability_mean": _float(link.probability[at].mean()),
                    "utilization": _float(link.utilization[at].mean()),
                }
                for name, link in self.links.items()
            },
            "classes": {
                name: {
                    "window_mean_packets": _float(each.window[at].mean()),
                    "rate_mean_packets_per_s": _float(each.rate[at].mean()),
                    "rtt_mean_s": _float(each.rtt[at].mean()),
                }
                for name, each in self.classes.items()
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """All results for JSON; names contain the base units."""
        return {
            "scenario": self.scenario.name,
            "source": self.source,
            "model": self.model.description,
            "warnings": list(self.warnings),
            "warmup_s": self.warmup,
            "steps": self.solution.steps,
            "means": self.means(),
            "times_s": self.times.tolist(),
            "series": {
                "links": {
                    name: {
                        "queue_packets": link.queue.tolist(),
                        "probability": link.probability.tolist(),
                        "arrivals_packets_per_s": link.arrivals.tolist(),
                    }
                    for name, link in self.links.items()
                },
                "classes": {
                    name: {"window_packets": each.window.tolist(), "rtt_s": each.rtt.tolist()}
                    for name, each in self.classes.items()
                },
            },
        }


def solve_fluid(
    scenario: Scenario, source: Source = "reno", *, tolerance: float = TOLERANCE
) -> Fluid:
    """Solves the fluid model of a scenario over its whole duration.

    Times are those of the scenario's time series. Raises :class:`ScenarioError` with every
    assumption of the model that the scenario breaks, :class:`ModelError` if there is no solution.

    Example::

        from marqueue import scenario, theory

        fluid = theory.solve_fluid(scenario.load("scenario.toml"))
        print(fluid.means(), fluid.queue.max())
    """
    description = describe(scenario, source)
    end, step = scenario.duration.seconds, scenario.sample.seconds
    count = int(end / step + 1e-9) if step else SAMPLES
    times = np.linspace(0.0, count * step if step else end, count + 1)
    model = Model(description)
    solution = model.integrate(times, tolerance=tolerance)
    warmup = scenario.warmup.seconds if isinstance(scenario.warmup, Duration) else 0.0
    links = dict(_links(description, solution))
    classes = dict(_classes(description, solution))
    after = np.asarray(times >= warmup, dtype=bool)
    said = model_warnings(description, solution, after)
    return Fluid(scenario, source, model, times, warmup, solution, links, classes, tuple(said))


def _links(description: Description, solution: Solution) -> Iterator[tuple[str, FluidLink]]:
    seen = solution.seen
    for i, link in enumerate(description["links"]):
        shown = {
            "queue": seen.queue,
            "arrivals": seen.arrivals,
            "capacity": seen.capacity,
            "marked": seen.probability,
            "lost": seen.loss,
            "price": seen.price,
            "phi": seen.phi,
        }
        yield link["name"], FluidLink(link["name"], **{k: v[:, i] for k, v in shown.items()})


def _classes(description: Description, solution: Solution) -> Iterator[tuple[str, FluidClass]]:
    seen = solution.seen
    for i, each in enumerate(description["classes"]):
        shown = {
            name: getattr(seen, name)[:, i]
            for name in ("window", "rate", "rtt", "congestion_signal")
        }
        yield each["name"], FluidClass(each["name"], **shown, count=seen.count[:, i])


def _mean(parts: list[tuple[Floats, Floats]]) -> Floats:
    total = np.sum([count for _, count in parts], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sum([y * count for y, count in parts], axis=0) / total)


def _float(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ModelError("no time is after the warm-up")
    return number
