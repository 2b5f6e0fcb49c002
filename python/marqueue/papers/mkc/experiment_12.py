"""Figure 12: four flows with unequal round-trip times join one after the other."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.measures import (
    Rate,
    fairness,
    measure_all_rates,
    measure_rate,
    sender_figure,
    total,
)
from marqueue.papers.mkc.setups import built, table
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario

FLOWS = (1, 2, 3, 4)
#: Interval between the starts of flows, s.
APART = 5.0
C, ALPHA, BETA = 10.0, 0.1, 0.9
#: Shares of C at which the link counts as full.
FULL, QUITE = 0.95, 1.0
LATE = (35.0, 40.0)


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """The one."""
    data = table("four-flows")
    return {"packets": built(data, data["name"])}


def reaches(x: Rate, share: float) -> float:
    """Time until a rate reaches a share of C, s."""
    there = np.flatnonzero(x.value >= share * C)
    return float(x.t[there[0]] - x.t[0]) if len(there) else x.end


def settled(rates: Sequence[Rate], flows: int) -> float:
    """Mean sum of rates in the last second before another flow joins, relative to C + N alpha /
    beta."""
    end = flows * APART
    return total(rates).mean(end - 1.0, end) / (C + flows * ALPHA / BETA)


def fall(run: Result, flow: int) -> Quantity:
    """The largest fall of the rate of the flow that joined last, before the next one joins."""
    return measure_rate(
        run,
        "Largest fall of the flow that joined last",
        "packets",
        lambda x: x.within(0.0, flow * APART).fall,
        "Mbit/s",
        str(flow),
    )


def sum_of_rates(run: Result, flows: int) -> Quantity:
    """Sum of the rates of this number of flows, relative to X*."""
    return measure_all_rates(run, "Sum of rates over X*", "packets", partial(settled, flows=flows))


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Time until the first flow fills the link, settled sums of rates, and falls."""
    run: Result = runs["packets"]
    out = {
        "fall": side_by_side({float(n): fall(run, n) for n in FLOWS}, "flow"),
        "total": side_by_side({float(n): sum_of_rates(run, n) for n in FLOWS}, "N"),
        "fair": measure_all_rates(
            run,
            "Least over greatest rate, 35 to 40 s",
            "packets",
            lambda rates: fairness([x.mean(*LATE) for x in rates]),
        ),
    }
    for key, share in (("full.first", FULL), ("full.quite", QUITE)):
        out[key] = measure_rate(
            run, f"Time to {share:.0%} of C", "first flow", partial(reaches, share=share), "s"
        )
    return out


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Rates over time."""
    return [
        sender_figure(
            "Figure 12",
            "Four EMKC flows on 10 Mbit/s, one more every 5 s.",
            {"four flows": runs["packets"]},
        )
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Figure 10; round-trip times of 50 to 80 ms, initial rates of 125, 150, 175 and 200 "
        "kbit/s, a new flow every 5 s. The routers C1 to C4, with intervals of 120 to 180 ms, are "
        "taken as links of 100 Mbit/s for one flow each, and C5, with 100 ms, as the shared one. "
        "The paper does not give the last two initial rates.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
