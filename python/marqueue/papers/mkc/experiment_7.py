"""Figures 7 and 8: steps of EMKC and AIMD to fairness, by theory, maps and packet simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.mkc.measures import Rate, computed, rates
from marqueue.papers.mkc.setups import emkc, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.plots import mkc
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.mkc import Aimd, Mkc
from marqueue.theory.mkc.convergence import steps_mkc
from marqueue.theory.mkc.paper_data import Steps, steps_over_capacity, steps_over_epsilon

LAWS: Mapping[str, type[Mkc] | type[Aimd]] = {"emkc": Mkc, "aimd": Aimd}
SOURCES = {"fixed": False, "variable": True}
#: Parameters of the packet simulation.
EPSILONS = (0.3, 0.1, 0.05)
#: Length of a step there, s: an interval, a round-trip time, and the full buffer.
STEP = 0.050 + 0.050 + 100 * 0.0016 / 10
#: Seconds over which a rate is averaged, for an accuracy of 0.6%: 20 intervals.
OVER = 1.0


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """Two flows that start as unfair as possible."""
    return {
        "packets": one_link(
            "Two EMKC flows, far from fair",
            emkc("100 kbit/s", 0.5),
            rates=["10 kbit/s", "10 Mbit/s"],
            rtts=["50 ms", "50 ms"],
            overrides=["duration=32 s"],
        )
    }


def over_epsilon(law: str) -> Steps:
    """Figures 7 (a) and 8 (a)."""
    # mypy asks whether instances are hashable, not the class.
    return steps_over_epsilon(LAWS[law])  # type: ignore[arg-type]


def over_capacity(law: str, sources: str) -> Steps:
    """Figures 7 (b) and 8 (b)."""
    return steps_over_capacity(LAWS[law], SOURCES[sources])  # type: ignore[arg-type]


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Steps of iteration and simulation relative to theory; growth with C; ratio of EMKC and
    AIMD."""
    out = {}
    for law in LAWS:
        found = over_epsilon(law)
        shares = dict(zip(found.x, found.iterated / found.theory, strict=True))
        out[f"steps.{law}.epsilon"] = computed(
            "Steps, iteration over theory", law, shares, "epsilon"
        )
    for name in SOURCES:
        steps = over_capacity("emkc", name).iterated
        out[f"growth.{name}"] = single(
            "Steps at 100 over those at 1 Mbit/s", f"N {name}", [float(steps[-1] / steps[0])]
        )
        aimd = over_capacity("aimd", name)
        ratios = dict(zip(aimd.x / 1e6, steps / aimd.iterated, strict=True))
        out[f"ratio.{name}"] = computed("Steps of EMKC over AIMD's", f"N {name}", ratios, "C")
    out |= fits()
    out["steps.packets.counted"] = of_packets(runs)
    out["steps.theory"] = computed(
        "Steps", "Theorem 5", {e: steps_mkc(10.0, 2, 0.1, 0.5, e) for e in EPSILONS}, "epsilon"
    )
    out["steps.packets"] = replace(
        out["steps.packets.counted"],
        label="Steps, packets over theory",
        values=out["steps.packets.counted"].values / out["steps.theory"].values,
    )
    return out


#: Shapes that the growth of steps with C is compared with. A small power stands for what is
#: neither linear nor logarithmic.
SHAPES: Mapping[str, Callable[[Floats], Floats]] = {
    "linear": lambda c: c,
    "logarithm": np.log,
    "power": lambda c: c**0.2,
}


def fits() -> dict[str, Quantity]:
    """How well each shape fits the steps at all capacities: R^2 of a line in it; and the exponent
    of the best power of C."""
    out = {}
    for name in SOURCES:
        found = over_capacity("emkc", name)
        for shape, of in SHAPES.items():
            r2 = float(np.corrcoef(of(found.x), found.iterated)[0, 1] ** 2)
            out[f"fit.{name}.{shape}"] = single(f"R^2, N {name}", shape, [r2])
        exponent = float(np.polyfit(np.log(found.x), np.log(found.iterated), 1)[0])
        out[f"exponent.{name}"] = single("Exponent of C", f"N {name}", [exponent])
    return out


def of_packets(runs: Runs) -> Quantity:
    """Steps until two flows are fair, for each epsilon."""
    counted = [
        [fair_after(each["1"], each["2"], epsilon) / STEP for epsilon in EPSILONS]
        for each in rates(runs["packets"])
    ]
    return Quantity("Steps", "packets", np.array(counted), "", "epsilon", EPSILONS)


def fair_after(first: Rate, second: Rate, epsilon: float) -> float:
    """Time until the first, lower rate reaches 1 - epsilon of the second; the end if it never
    does."""
    begins = np.arange(0.2, first.end - OVER, 0.05)
    means = np.array([[x.mean(t, t + OVER) for x in (first, second)] for t in begins])
    fair = np.flatnonzero(means[:, 0] >= (1 - epsilon) * means[:, 1])
    return float(begins[fair[0]] + OVER / 2 if len(fair) else first.end)


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Theory as lines, iteration and packets as marks."""
    return [
        PaperFigure(
            "Figure 7",
            "Steps of EMKC to fairness, from the most unfair rates: above C = 1 Mbit/s, below "
            "epsilon = 0.1. Lines: Theorem 5; marks: iteration.",
            mkc.figure_7(),
            data("emkc"),
        ),
        PaperFigure(
            "Figure 8",
            "Above, steps of AIMD at C = 1 Mbit/s; below, how many times as many EMKC takes, "
            "epsilon = 0.1. Lines: Theorem 6, Corollary 3; marks: iteration.",
            mkc.figure_8(),
            data("aimd"),
        ),
        sweep_figure(
            "Figure 7, packets",
            "Steps to fairness of two EMKC flows on 10 Mbit/s (marks), and Theorem 5 (line). A "
            "step is an interval and a round trip.",
            [quantities["steps.packets.counted"]],
            "epsilon",
            [replace(quantities["steps.theory"], of="packets")],
            floor=0.0,
        ),
    ]


def data(law: str) -> pa.Table:
    """The data of Figures 7 and 8."""
    parts = {"epsilon": over_epsilon(law)} | {
        f"C, N {name}": over_capacity(law, name) for name in SOURCES
    }
    return pa.concat_tables(
        pa.table({"of": [of] * len(s.x), "x": s.x, "theory": s.theory, "iterated": s.iterated})
        for of, s in parts.items()
    )


EXPERIMENT = Experiment(
    readings=(
        "Maps: alpha = 10 kbit/s, beta = 0.5, one source at C and all others at 0; AIMD reduces "
        "its rate where the sum of rates exceeds C. The paper does not give the ranges of epsilon "
        "and C: 0.001 to 0.5, and 1 to 100 Mbit/s are used.",
        "Packets, which are not in the paper: C = 10 Mbit/s, alpha = 100 kbit/s, beta = 0.5, from "
        "10 kbit/s and 10 Mbit/s, Delta = 50 ms, a round-trip time of 50 ms and 16 ms of buffer. "
        "Rates are means of 1 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
