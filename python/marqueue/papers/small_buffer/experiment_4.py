"""Figures 4, 5, 6 and 9: a dumbbell under three schemes and two exponents, with windows and
marks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.papers.small_buffer import measures, theorem_2
from marqueue.papers.small_buffer.measures import (
    clt,
    dependence,
    difference,
    fall,
    marked_by_clt,
    of_link,
    performance,
    swept,
    windows,
)
from marqueue.papers.small_buffer.setups import CURVES, EPS, FLOWS, GROUP, MORE, A, dumbbell, named
from marqueue.plots import line_plot, style
from marqueue.scenario import Scenario

#: The larger exponent of Figure 5, and its schemes.
LARGER, OF_TWO = 0.3, ("RED1", "RED2")
#: Exponents besides those two, for the dependence of windows only, and their scheme.
OTHERS, OF_ONE = (0.1, 0.35), "RED1"
#: Numbers of flows between which a fall is measured.
FROM, TO = FLOWS[0], FLOWS[-1]
#: The set-up of the histogram.
SHOWN = ("RED1", 200)
#: Numbers of flows for the formula, and the assumed standard deviation of a window, packets.
FORMULA, STD = tuple(10.0**k for k in range(2, 13)), 2.0
BINS = 40


def schemes() -> list[tuple[str, float]]:
    """Schemes with the exponents of Figures 4 and 5."""
    return [(scheme, A) for scheme in CURVES] + [(scheme, LARGER) for scheme in OF_TWO]


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows."""
    every = [*schemes(), *((OF_ONE, a) for a in OTHERS)]
    return {named(s, n, a): dumbbell(s, n, choice, a) for s, a in every for n in FLOWS}


def full(choice: Choice) -> Mapping[str, Scenario]:
    """More flows; with the larger exponent up to ten thousand."""
    return {
        named(s, n, a): dumbbell(s, n, choice, a, replications=replications)
        for s, a in schemes()
        for n, replications in MORE.items()
        if a == A or n < max(MORE)
    }


def key(scheme: str, a: float) -> str:
    """Suffix of the names of a scheme's quantities."""
    return scheme if a == A else f"{scheme}.{a:g}"


def names(scheme: str, a: float) -> dict[float, str]:
    """The set-ups by number of flows."""
    return {float(n): named(scheme, n, a) for n in (*FLOWS, *MORE)}


def scaled(runs: Runs, scheme: str) -> Quantity:
    """The mean queue over N^(a + e), by the number of flows."""
    queue = swept(runs, names(scheme, A), partial(of_link, of=scheme, figure="queue_mean"))
    values = queue.values / np.array(queue.places) ** (A + EPS)
    return replace(queue, label="Queue, mean, over N^0.3", values=values)


def tail(runs: Runs, scheme: str) -> Quantity:
    """The share of time with at least N^(a + e) packets waiting, by the number of flows."""
    at = {n: name for n, name in names(scheme, A).items() if name in runs}
    return side_by_side({n: theorem_2.above(runs[at[n]], scheme, n) for n in at}, "N")


def formula(scheme: str) -> Quantity:
    """Marks by the central limit theorem alone, by the number of flows."""
    values = [marked_by_clt(scheme, n, A, 0.0, STD * n**0.5) for n in FORMULA]
    return Quantity(
        "Probability of a mark", f"{scheme}, CLT, shifted", np.array([values]), "", "N", FORMULA
    )


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """The four figures, windows, and marks."""
    out: dict[str, Quantity] = {}
    for scheme, a in schemes():
        of = scheme if a == A else f"{scheme}, a = {a:g}"
        out |= performance(runs, names(scheme, a), of, key(scheme, a))
        out[f"h.{key(scheme, a)}"] = swept(runs, names(scheme, a), partial(dependence, of=of))
    for a in OTHERS:
        of = f"{OF_ONE}, a = {a:g}"
        out[f"h.{key(OF_ONE, a)}"] = swept(runs, names(OF_ONE, a), partial(dependence, of=of))
    for scheme in CURVES:
        out[f"scaled.{scheme}"] = scaled(runs, scheme)
        out[f"tail.{scheme}"] = tail(runs, scheme)
        out |= theorem_2.of_chain(scheme)
        at = names(scheme, A)
        out[f"marks.{scheme}"] = replace(
            swept(runs, at, partial(of_link, of=scheme, figure="mark_ratio")),
            label="Probability of a mark",
        )
        for name in ("delay", "jitter", "marks"):
            out[f"fall.{name}.{scheme}"] = fall(out[f"{name}.{scheme}"], FROM, TO)
        for shifted in (False, True):
            parts = {
                n: clt(runs[name], scheme, n, A, shifted=shifted)
                for n, name in at.items()
                if name in runs
            }
            of_clt = side_by_side(parts, "N")
            of = f"{scheme}, {of_clt.of}"
            out[f"clt{'.shifted' * shifted}.{scheme}"] = replace(of_clt, of=of)
        out[f"clt.formula.{scheme}"] = formula(scheme)
    for name in ("utilization", "delay", "loss"):
        out[f"alike.{name}"] = difference(out[f"{name}.RED1"], out[f"{name}.EXP"])
    return {**out, **windows(runs[named(*SHOWN)], "RED1, N = 200")}


def theory(_choice: Choice) -> None:
    """The chains, which :mod:`theorem_2` keeps."""
    for scheme in CURVES:
        theorem_2.of_chain(scheme)


def histogram(runs: Runs) -> PaperFigure:
    """Histogram of the sum of windows in the first replication, with a fitted Gaussian."""
    total = runs[named(*SHOWN)].cwnds(group=GROUP)[0].total
    density, edges = np.histogram(total, BINS, density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    fit = norm.pdf(middle, total.mean(), total.std())
    figure, axes = style.figure_and_axes(None)
    axes.bar(middle, density, width=np.diff(edges), color="0.85", label="samples every 20 ms")
    line_plot({"Gaussian": (middle, fit)}, "Sum of windows, packets", "Density", axes=axes)
    table = pa.table({"packets": middle, "density": density, "gaussian": fit})
    caption = "The sum of 200 windows under RED1, first replication, with the Gaussian that fits."
    return PaperFigure("Figure 6b", caption, figure, table)


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The four figures, Figure 5's pairs, windows, and marks."""
    pairs = [key(scheme, a) for scheme in OF_TWO for a in (A, LARGER)]
    short = {k: replace(q, label="h") for k, q in quantities.items() if k.startswith("h.")}
    return [
        *measures.performance_figures(
            "Figure 4", "Three schemes, a = 0.2.", quantities, list(CURVES)
        ),
        *(
            sweep_figure(
                f"Figure 5{letter}",
                "RED1 and RED2 with thresholds that grow as N^0.2 and as N^0.3.",
                [_common(quantities[f"{name}.{k}"]) for k in pairs],
                "N",
                log_x=True,
            )
            for name, letter in (("utilization", "a"), ("loss", "b"))
        ),
        sweep_figure(
            "Figure 6a",
            "h(N) = Var(sum of W) / sum of Var(W), windows sampled every 20 ms.",
            [short[f"h.{scheme}"] for scheme in CURVES],
            "N",
            log_x=True,
        ),
        histogram(runs),
        sweep_figure(
            "Figure 9",
            "The measured share of marked packets, and lines: a Gaussian sum of independent "
            "windows with the most favourable mean, without randomness of arrivals.",
            [quantities[f"marks.{scheme}"] for scheme in CURVES],
            "N",
            [replace(quantities[f"clt.formula.{scheme}"], of=scheme) for scheme in CURVES],
            log_x=True,
            floor=0.0,
        ),
        theorem_2.drawn(quantities, list(CURVES), quantities["clt.formula.RED1"]),
    ]


def _common(quantity: Quantity) -> Quantity:
    """The quantity without the largest number of flows, which only one exponent has."""
    most = max(MORE)
    keep = [i for i, n in enumerate(quantity.places) if n < most]
    places = tuple(quantity.places[i] for i in keep)
    return replace(quantity, values=quantity.values[:, keep], places=places)


EXPERIMENT = Experiment(
    readings=(
        "As printed: C = 100 kbit/s a flow, packets of 500 bytes, ECN, two-way propagation "
        "uniform in [120, 280] ms. Access links have ten times the bottleneck's rate, at least "
        "1 Gbit/s, except under the reading `access`. Flows start within 5 s and run NewReno "
        "without delayed acknowledgements. The first 10 of 30 s are left out (10 of 25 s from 10^4 "
        "flows on, 15 of 30 s from 10^5 on).",
        "Table I is read as one marking function for each scheme. RED1 and RED2 are linear between "
        "their thresholds and mark every packet beyond the upper one (p goes to 1, section II-B); "
        "EXP is 0.2 at 10 N^a. Marks are drawn independently, by the instantaneous queue. The "
        "experiment `red` shows what ns-2's RED does with the same numbers.",
        "Windows are sampled every 20 ms, as in the paper. h uses variances over time, for the "
        "flows of each replication separately.",
        "Figure 9 is a sketch in the paper. Here the Gaussian has the variance of independent "
        "windows, computed from the measured variances. Its mean follows from the measured "
        "utilization; the most favourable mean is the pipe.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    full=full,
    theory=theory,
)
