"""The statements of section 3 on drawing factors, fairness and differentiation, (4) to (26), over
grids beyond the paper's examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.optimize import brentq

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment, theory_alone
from marqueue.papers.quantity import Quantities, Quantity, Runs, computed, single
from marqueue.papers.readings import Choice
from marqueue.theory.chokew.model import (
    Flows,
    entry_probability,
    equilibrium,
    starvation_bound,
    starvation_share,
)
from marqueue.theory.tcp.laws import pftk

#: Shares of the queue: the paper's three, and larger ones.
SHARES = (0.005, 0.009, 0.01, 0.017, 0.05, 0.1, 0.3)
#: Drawing factors of a flow, below and above those that starve a hundredth of the queue (68.97).
FACTORS = (0.5, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
#: alpha_i / alpha_j.
ALPHAS = (1.05, 1.5, 3.0, 10.0)
#: A flow's alpha over the rate at which packets enter the queue: a hundred flows in 1 Mbit/s of
#: packets of 1000 bytes have about 0.008.
PACES = (0.002, 0.008, 0.03)
#: Weights of the higher level, numbers of flows, and round trips without queueing, s.
WEIGHTS = (1.1, 1.5, 2.0, 4.0, 8.0)
COUNTS = (10, 200)
RTT = 0.006
CAPACITY, QUEUE = 125.0, 150.0
#: Dropping probabilities; two round trips, s, queueing included; the least timeout, s.
DROPS = (1e-4, 1e-3, 0.01, 0.05, 0.2)
TRIPS = (0.1, 0.25)
TIMEOUT = 0.2
STEP = 1e-6
"""Relative step of numerical derivatives."""
SHARE, FACTOR, WEIGHT, DROP = "r", "p", "w", "q"


def drawing() -> dict[str, Quantity]:
    """(5) beside (4), over drawing factors between whole numbers; and the bound (9)."""
    halves = [k + f for k in (0, 1, 5, 20) for f in (0.25, 0.5, 0.75)]
    error = [max(abs(entry_probability(r, p) / (1 - r) ** p - 1) for p in halves) for r in SHARES]
    bounds = [starvation_bound(r) for r in SHARES]
    return {
        "eq-5": over_shares("(5) over (4), largest relative error", error),
        "eq-9": over_shares("Drawing factor that starves", bounds),
    }


def over_shares(label: str, values: Sequence[float]) -> Quantity:
    """A quantity at each share of the queue."""
    return computed(label, "model", values, SHARE, SHARES)


def dropping(r: float, p: float) -> float:
    """q (7)."""
    return -2 * math.expm1(p * math.log1p(-r))


def solved(p: float, alpha: float, others: float | None) -> float:
    """r of a TCP flow that sends alpha sqrt(3/(2q)), relative to the entering rate: of all flows,
    which is then 1, or of all ``others``."""

    def excess(r: float) -> float:
        entering = 1.0 if others is None else others / (1 - r)
        q = dropping(r, p)
        return alpha * math.sqrt(1.5 / q) * (1 - q / 2) - r * entering

    return float(brentq(excess, 1e-15, starvation_share(p), xtol=1e-16, rtol=1e-14))


def starved(p: float, alpha: float) -> bool:
    """Whether no share of the queue below that of (9) suffices: at q = 1 footnote 8 still sends,
    more than that share takes up."""
    return alpha * math.sqrt(1.5) / 2 >= starvation_share(p)


def goodput(p: float, alpha: float) -> float:
    """lambda' relative to the entering rate of all flows; 0 if starved."""
    if starved(p, alpha):
        return 0.0
    return passed(p, alpha, None)


def paces(p: float) -> list[float]:
    """The flows that are not starved."""
    return [alpha for alpha in PACES if not starved(p, alpha)]


def case_1() -> dict[str, Quantity]:
    """Solutions r_i of G = 0 for two flows with equal alpha, by sign changes on a grid of r: the
    largest number of them over p and alpha, and how far r_i is from r_j."""
    most, off = [], []
    for p in FACTORS:
        counts, distances = [], []
        for alpha in paces(p):
            given = solved(p, alpha, None)
            grid = np.geomspace(1e-9, starvation_share(p) * (1 - 1e-9), 4000)
            q = -2 * np.expm1(p * np.log1p(-grid))
            entering = alpha * np.sqrt(1.5 / q) * (1 - q / 2)
            g = entering / given - grid / given
            changes = np.flatnonzero(np.diff(np.sign(g)))
            counts.append(float(len(changes)))
            distances.append(float(abs(grid[changes[0]] / given - 1)))
        most.append(max(counts))
        off.append(max(distances))
    return {
        "case-1.solutions": over_factors("Solutions of G = 0, most", most),
        "case-1.distance": over_factors("Distance of r_i from r_j, relative", off),
    }


def over_factors(label: str, values: Sequence[float]) -> Quantity:
    """A quantity at each drawing factor."""
    return computed(label, "model", values, FACTOR, FACTORS)


def case_2() -> dict[str, Quantity]:
    """(22): the largest ratio of goodputs under CHOKeW over that of (20), and the least ratio
    itself; and (20) beside two laws of TCP."""
    relative, least, modest = [], [], []
    for p in FACTORS:
        pairs = [(a, goodput(p, pace * a) / goodput(p, pace)) for a in ALPHAS for pace in paces(p)]
        relative.append(max(ratio / a for a, ratio in pairs))
        least.append(min(ratio for _, ratio in pairs))
        small = PACES[0]
        modest.append(min(goodput(p, small * a) / goodput(p, small) for a in ALPHAS[:2]))
    return {
        "eq-22.relative": over_factors("Ratio under CHOKeW over (20), largest", relative),
        "eq-22.least": over_factors("Ratio under CHOKeW, least", least),
        "eq-22.modest": over_factors("The same, alphas of up to 1.5 and 0.002, least", modest),
        "eq-20.sqrt": computed(
            "Ratio under RED over (20)", "square root", [red_ratio(q, 0.0) for q in DROPS], DROP,
            DROPS,
        ),
        "eq-20.timeouts": computed(
            "Ratio under RED over (20)", "with timeouts", [red_ratio(q, TIMEOUT) for q in DROPS],
            DROP, DROPS,
        ),
    }  # fmt: skip


def red_ratio(q: float, timeout: float) -> float:
    """The ratio of goodputs of two round trips at one dropping probability, over that of their
    alphas (20), by the square-root law or with timeouts."""
    near, far = TRIPS
    if not timeout:
        return math.sqrt(1.5 / q) / near / (math.sqrt(1.5 / q) / far) / (far / near)
    # pftk gives packets a round trip.
    rates = [pftk(q, trip, max(timeout, trip), 1) / trip for trip in TRIPS]
    return rates[0] / rates[1] / (far / near)


def derivative() -> dict[str, Quantity]:
    """dq/dp (23) to (26) beside numerical derivatives: with the entering rate of all flows held,
    and with that of the others."""
    formula, difference, least, goodput = [], [], [], []
    for p in FACTORS:
        errors, others, slopes, falls = [], [], [], []
        for alpha in paces(p):
            r = solved(p, alpha, None)
            said = printed_slope(r, p, alpha)
            same = slope(partial(lost, alpha=alpha, others=None), p)
            own = slope(partial(lost, alpha=alpha, others=1 - r), p)
            errors.append(abs(said / same - 1))
            others.append(abs(said / own - 1))
            slopes += [same, own, said]
            falls.append(slope(partial(passed, alpha=alpha, others=1 - r), p))
        formula.append(max(errors))
        difference.append(max(others))
        least.append(min(slopes))
        goodput.append(max(falls))
    return {
        "eq-26.formula": over_factors("(23) to (26) beside numerical, relative", formula),
        "eq-26.others": over_factors("The same with other flows held", difference),
        "eq-26.least": over_factors("dq/dp, least", least),
        "eq-26.goodput": over_factors("d lambda'/dp, largest", goodput),
    }


def lost(p: float, alpha: float, others: float | None) -> float:
    """q at a drawing factor."""
    return dropping(solved(p, alpha, others), p)


def passed(p: float, alpha: float, others: float | None) -> float:
    """lambda' at a drawing factor."""
    q = lost(p, alpha, others)
    return alpha * math.sqrt(1.5 / q) * (1 - q)


def slope(f: Callable[[float], float], x: float) -> float:
    """A central difference."""
    return (f(x * (1 + STEP)) - f(x * (1 - STEP))) / (2 * x * STEP)


def printed_slope(r: float, p: float, alpha: float) -> float:
    """dq/dp as printed after (26), the entering rate of all flows being 1."""
    q = dropping(r, p)
    sent, by_q = alpha * math.sqrt(1.5 / q), -0.5 * alpha * math.sqrt(1.5) * q**-1.5
    gamma = 1 + sent * p * (1 - r) ** (p - 1) - 2 * by_q * (1 - r) ** (2 * p - 1) * p
    return float(-2 * (1 - r) ** p * math.log1p(-r) / gamma)


def levels() -> dict[str, Quantity]:
    """Two levels at the fixed point (16): goodput of the lower over the higher, the largest over
    numbers of flows; and the largest residual of (16a) to (16d) where none is starved."""
    ratios, residuals = [], []
    for weight in WEIGHTS:
        found = []
        for count in COUNTS:
            flows = [
                Flows("low", "tcp", count, 1.0, RTT), Flows("high", "tcp", count, weight, RTT)
            ]  # fmt: skip
            at = equilibrium(flows, CAPACITY, QUEUE)
            low, high = at.share("low"), at.share("high")
            found.append(low.delivered / high.delivered)
            entering = [s.sent * (1 - s.matching_probability) ** s.drawing_factor
                        for s in (low, high)]  # fmt: skip
            total = count * sum(entering)
            if low.starved:
                continue
            residuals += [
                *(abs(mu / total / s.matching_probability - 1)
                  for mu, s in zip(entering, (low, high), strict=True)),
                abs(count * (low.delivered + high.delivered) / CAPACITY - 1),
                abs(low.drawing_factor / high.drawing_factor / weight - 1),
            ]  # fmt: skip
        ratios.append(max(found))
    return {
        "levels": computed("Goodput, low over high, largest", "model", ratios, WEIGHT, WEIGHTS),
        "eq-16": single("Residual of (16), largest", "model", [max(residuals)]),
    }


def measure(_runs: Runs, _choice: Choice) -> Quantities:
    """All of them."""
    parts = (drawing(), case_1(), case_2(), derivative(), levels())
    return dict(itertools.chain.from_iterable(part.items() for part in parts))


def draw(_runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The ratio of (22) on both of its sides."""
    named = [
        computed("Ratio of goodputs", of, quantities[f"eq-22.{name}"].values[0], FACTOR, FACTORS)
        for name, of in (("relative", "over (20), largest"), ("least", "least"))
    ]
    caption = "Two TCP flows of unequal alpha under CHOKeW; above 1 and below that of (20) is fair."
    return [sweep_figure("Theory 1", caption, named, FACTOR, log_x=True)]


EXPERIMENT = Experiment(
    readings=(
        "TCP is footnote 8, lambda = alpha sqrt(3/(2q)), where nothing else is said; rates are "
        "relative to the rate at which packets of all flows enter the queue, as in (26).",
    ),
    setups=theory_alone,
    measure=measure,
    draw=draw,
)
