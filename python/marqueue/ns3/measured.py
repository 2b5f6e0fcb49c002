"""What the two simulators measured on a dumbbell: six figures, and how far they may be apart."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from marqueue.ns3.case import PACKET, Case
from marqueue.results import Result
from marqueue.statistics.estimates import Estimate, jain

STORED = Path(__file__).with_name("measured.json")
"""What ns-3 measured, by case; made by ``make reference-ns3``."""

Figures = Mapping[str, Estimate]

#: Figures with their units.
UNITS: Mapping[str, str] = MappingProxyType(
    {
        "utilization": "",
        "delay_mean": "s",
        "delay_p99": "s",
        "loss_ratio": "",
        "mark_ratio": "",
        "jain": "",
    }
)


def marqueue_figures(result: Result) -> Figures:
    """The figures of a run here, after its warm-up."""
    link = result.link()
    of_link = {name: Estimate.of(link.values(name)) for name in UNITS if name != "jain"}
    fairness = [jain(flows.long_rates) for flows in result.flow_sets()]
    return of_link | {"jain": Estimate.of(fairness)}


@cache
def stored() -> Mapping[str, Any]:
    """Everything that was stored."""
    data: Mapping[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return data


def ns3_figures(case: Case) -> Figures:
    """The stored figures of ns-3. Raises KeyError if there are none."""
    entry = stored()["cases"][case.name]
    return {name: Estimate.of(entry[name]) for name in UNITS}


BECAUSE: Mapping[str, str] = MappingProxyType(
    {
        "utilization": "A hundredth of the capacity: less than any conclusion rests on.",
        "delay_mean": "15% or two transmission times, as for the queue beside ns-2: by as much a "
        "window moves that is a segment larger or smaller.",
        "delay_p99": "20% or two transmission times: as for the mean, and a quantile that so few "
        "bursts decide moves with each of them.",
        "loss_ratio": "25% or 0.002: a loss rate goes as the window to the power of -2, so that it "
        "moves by a quarter where the mean window moves by an eighth.",
        "mark_ratio": "25% or 0.002: as for losses.",
        "jain": "0.05: the index is 1/(1 + c^2) with the coefficient of variation c of goodputs; "
        "from 0.92, where c is 0.3, 0.05 changes c by 0.1.",
    }
)


def tolerances(case: Case, there: Figures) -> Mapping[str, float]:
    """The tolerance of each figure."""
    packets = 2 * 8 * PACKET / case.rate
    return {
        "utilization": 0.01,
        "delay_mean": max(0.15 * there["delay_mean"].mean, packets),
        "delay_p99": max(0.2 * there["delay_p99"].mean, packets),
        "loss_ratio": max(0.25 * there["loss_ratio"].mean, 0.002),
        "mark_ratio": max(0.25 * there["mark_ratio"].mean, 0.002),
        "jain": 0.05,
    }
