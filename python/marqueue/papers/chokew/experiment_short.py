"""Beyond the paper: short flows among long ones."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, of_link, swept
from marqueue.papers.chokew.setups import label, level, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "red", "fq_codel")
#: Rates of short flows of 10 packets, 1/s: 4% to 32% of the capacity.
RATES = (0.5, 1.0, 2.0, 4.0)
VARIABLE = "short flows a second"


def name(scheme: str, rate: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{rate:g}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """Flows of 10 packets and 50 long flows, all of one level."""

    def short(rate: float) -> dict[str, str]:
        return {"name": "short", "kind": "poisson", "rate": f"{rate} /s", "size": "10 packets"}

    return {
        name(scheme, rate): under(scheme, {1.0: 50}, short(rate))
        for scheme in COMPARED
        for rate in RATES
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Completion times, goodput of the long flows, queueing delay."""
    out = {}
    for scheme in COMPARED:
        names, of = {rate: name(scheme, rate) for rate in RATES}, label(scheme)
        for key, figure in {"fct": "fct_mean", "fct-p95": "fct_p95"}.items():
            out[f"{key}.{scheme}"] = swept(runs, names, VARIABLE, of_flows, of, figure, "short")
        out[f"long.{scheme}"] = swept(runs, names, VARIABLE, of_flows, of, "goodput", level(1))
        out[f"delay.{scheme}"] = swept(runs, names, VARIABLE, of_link, of, "delay_mean")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Completion times by the rate; all figures at each rate as a table."""
    keys = ("fct", "fct-p95", "delay", "long")
    return [
        sweep_figure(
            "Short 1",
            "Mean completion time of flows of 10 packets beside 50 long ones.",
            [quantities[f"fct.{scheme}"] for scheme in COMPARED],
            "Short flows a second",
            floor=0.0,
        ),
        PaperTable(
            "Short 2",
            "The same, with the 95th percentile, the mean queueing delay and what is left to the "
            "long flows.",
            (
                "",
                "Per second",
                "Mean [s]",
                "p95 [s]",
                "Delay [ms]",
                "Long flows [Mbit/s]",
            ),
            [
                [label(scheme), f"{rate:g}",
                 *(quantities[f"{key}.{scheme}"].estimates[i] for key in keys)]
                for scheme in COMPARED
                for i, rate in enumerate(RATES)
            ],
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    readings=(
        "Short flows arrive as a Poisson process; all flows have weight 1. The claims are ours.",
        "Completion times are those of flows that began after 500 s and ended before 1000 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    found=(
        "A short flow seldom has two packets in the queue at a time, so that few of its packets "
        "are matched. Under CHOKeW it finishes a third sooner than under RED, which drops packets "
        "of all flows alike and has the longer queue.",
        "A queue for each flow is better by another quarter: there a short flow does not wait "
        "behind the long ones, which under CHOKeW, first in first out, costs more than a second a "
        "round trip. It cannot be much better. The link leaves each flow 2.5 packets a second, so "
        "that ten packets take four seconds.",
    ),
)
