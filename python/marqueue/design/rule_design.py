"""Designs by rules of RFCs, for AQMs without a linear model, and their check by packets.

The check simulates the design, and the same AQM with all its times :data:`ASIDE` times shorter and
longer: where a rule is right, shorter times lose utilization and longer ones add delay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from marqueue.design.design import Value
from marqueue.design.packets import MOST_PACKETS, REPLICATIONS
from marqueue.design.python_aqm import PythonAqm
from marqueue.design.tcp_experiment import LINK, reno_over_a_dumbbell
from marqueue.errors import ModelError
from marqueue.results import Result, Subject
from marqueue.results.comparison import Difference, compare
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each

#: The factor of times on both sides of the design.
ASIDE = 8.0
#: A run in round trips, with its bounds in s: warm-up, and measured time.
WARMUP, MEASURED = (100.0, 10.0, 60.0), (400.0, 30.0, 120.0)
FIGURES = ("utilization", "delay_mean", "delay_p99")


@dataclass(frozen=True)
class Parameter:
    """A parameter with its rule."""

    name: str
    value: Value
    rule: str
    source: str


@dataclass(frozen=True)
class RuleDesign:
    """Parameters of an AQM by rules, without margins."""

    controller: str
    capacity: float
    """packets/s."""
    flows: float
    """The least number of flows."""
    rtt: float
    """The largest round trip without queueing, s."""
    parameters: tuple[Parameter, ...]
    no_margins: str
    """Why there are none."""
    assumptions: tuple[str, ...]
    aqm_at: Callable[[float], Mapping[str, Any]]
    """The AQM as a table of a scenario, with all times multiplied by a factor."""

    @property
    def aqm(self) -> Mapping[str, Any]:
        """The AQM as a table of a scenario."""
        return self.aqm_at(1.0)

    @property
    def configure(self) -> Mapping[str, Value]:
        """The values by name."""
        return {each.name: each.value for each in self.parameters}


@dataclass(frozen=True)
class BothSides:
    """Differences from the design (A) to shorter and to longer times (B)."""

    shorter: tuple[Difference, ...]
    longer: tuple[Difference, ...]

    @property
    def shorter_loses(self) -> bool | None:
        """Whether shorter times lose utilization: None if the interval includes zero."""
        return _sign(self.shorter[0], -1)

    @property
    def longer_delays(self) -> bool | None:
        """Whether longer times add mean delay: None if the interval includes zero."""
        return _sign(self.longer[1], 1)


def both_sides(
    design: RuleDesign, progress: Progress | None = None, python_aqm: PythonAqm | None = None
) -> BothSides:
    """Simulates packets with the design, and with times :data:`ASIDE` times shorter and longer,
    with a class in Python in place of the designed AQM if there is one.

    Raises :class:`ModelError` if the runs would be too long.
    """
    if python_aqm is not None:
        aqm_at = design.aqm_at
        design = replace(design, aqm_at=lambda factor: python_aqm.in_place_of(aqm_at(factor)))
    runs = [_scenario(design, factor) for factor in (1.0, 1 / ASIDE, ASIDE)]
    at, shorter, longer = run_each(runs, progress=progress)
    return BothSides(_differences(at, shorter), _differences(at, longer))


def _differences(a: Result, b: Result) -> tuple[Difference, ...]:
    found = compare(a, b).by_subject()[Subject("link", LINK)]
    by_name = {each.figure.name: each for each in found}
    return tuple(by_name[name] for name in FIGURES)


def _sign(difference: Difference, expected: int) -> bool | None:
    return difference.difference.mean * expected > 0 if difference.excludes_zero else None


def _scenario(design: RuleDesign, factor: float) -> Scenario:
    warmup, measured = (min(max(n * design.rtt, a), b) for n, a, b in (WARMUP, MEASURED))
    packets = design.capacity * (warmup + measured)
    if packets > MOST_PACKETS:
        raise ModelError(
            f"packets: a replication would have {packets:.3g} packets, expected at most "
            f"{MOST_PACKETS:.3g}"
        )
    # Room for all windows and a queue of a round trip, twice.
    room = 4 * design.rtt * design.capacity + 100
    return from_dict(
        {
            "name": "Design",
            "duration": f"{warmup + measured:.9f} s",
            "warmup": f"{warmup:.9f} s",
            "sample": "0 s",
            "seed": 1,
            "replications": REPLICATIONS,
            **reno_over_a_dumbbell(
                design.capacity, design.flows, design.rtt, room, design.aqm_at(factor)
            ),
        }
    )
