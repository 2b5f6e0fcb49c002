"""Theorems 2.1 and 4.1 to 4.7 and Example 4.1, on both sides of each boundary.

With time in units of d the linear model has two parameters: the window W = gamma C d / N, by
K11 d = 1 / W and K2 d = (2/3) W, and alpha d. A sweep of windows therefore covers all capacities,
round trips and numbers of flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from marqueue.design import avq, check
from marqueue.design.avq import Avq
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment, theory_alone
from marqueue.papers.quantity import Quantities, Quantity, Runs, computed, single
from marqueue.papers.readings import Choice
from marqueue.theory.linear.characteristic import DEGREE, rightmost

#: Example 4.1: 10 Mbit/s, packets of 1000 bytes.
CAPACITY, GAMMA = 1250.0, 0.98
#: Experiment 1's design: flows and the longest round trip, s.
FLOWS, RTT = 180.0, 0.35
#: Windows, packets; p* < 1 from 1.22 on.
WINDOWS = (1.23, 1.3, 1.4, 1.5, 1.75, 2.0, 2.2, 2.4, 2.6, 3.0, 3.5, 4.0, 6.0, 10.0)
#: alpha times the round trip: from a hundredth of Experiment 1's to a hundred times.
PACES = (0.0005, 0.005, 0.05, 0.3, 1.0, 5.0)
#: Distances from a boundary.
INSIDE, OUTSIDE = 0.99, 1.01
#: Delays of the example, s.
DELAYS = (0.15, 0.25)
W, PACE = "W", "alpha d"


def at_window(window: float, alpha: float = 1.0, rtt: float = RTT) -> Avq:
    """The example's link with flows of this window."""
    return Avq(CAPACITY, GAMMA * CAPACITY * rtt / window, rtt, GAMMA, alpha)


def growth(at: Avq) -> float:
    """The real part of the rightmost root of (4), (5), per round trip: below 0 they are stable.
    Also where p* >= 1, which the theorems do not exclude."""
    return float(rightmost(at.linearized.closed, degree=DEGREE)[0].real) * at.rtt


@cache
def exact_alpha(window: float) -> float | None:
    """The alpha of Theorem 4.1: None if no alpha is stable."""
    at = at_window(window)
    least = 1e-6 * at.k11
    if replace(at, alpha=least).phase >= math.pi:
        return None
    return avq.theorem_4_1(at, "alpha", least, 1e6 * at.k11)


def alpha_rules() -> dict[str, Quantity]:
    """Theorems 2.1 (4.3), 4.1, 4.4 and 4.5 over windows."""
    promised: dict[str, list[float]] = {"2.1": [], "4.1": [], "4.4": []}
    inside: dict[str, list[float]] = {"2.1": [], "4.1": [], "4.4": []}
    outside, order, exists = [], [], []
    for window in WINDOWS:
        at = at_window(window)
        bounds = {
            "2.1": avq.theorem_2_1(at), "4.1": exact_alpha(window), "4.4": avq.theorem_4_4(at)
        }  # fmt: skip
        for name, bound in bounds.items():
            promised[name].append(bound is not None)
            # Where a rule promises no alpha there is nothing that it could get wrong.
            sizes = [] if bound is None else [share * bound for share in (0.01, 0.3, INSIDE)]
            inside[name].append(max((growth(replace(at, alpha=a)) for a in sizes), default=-1.0))
        exact, newer, older = bounds["4.1"], bounds["2.1"], bounds["4.4"]
        outside.append(1.0 if exact is None else growth(replace(at, alpha=OUTSIDE * exact)))
        exists.append(older is None or newer is not None)
        order.append(0.0 if older is None or newer is None else older / newer)
    return {
        **{
            f"promised.{name}": over_windows("Whether it promises an alpha", name, values)
            for name, values in promised.items()
        },
        **{
            f"inside.{name}": over_windows("Largest growth at 0.01 to 0.99 of it", name, values)
            for name, values in inside.items()
        },
        "outside.4.1": over_windows("Growth at 1.01 of it", "4.1", outside),
        "exists.4.5": over_windows("Whether (23) has a solution where (24) has", "4.5", exists),
        "order.4.5": over_windows("alpha of (24) over that of (23)", "4.5", order),
    }


def over_windows(label: str, of: str, values: Sequence[float]) -> Quantity:
    """A quantity of Theorem ``of`` at each window."""
    return computed(label, f"Theorem {of}", values, W, WINDOWS)


Bound = Callable[[Avq], float]
#: Theorems for d, N and gamma; whether values below the bound are stable; where the sweep starts.
OTHERS: dict[str, tuple[avq.Quantity, Bound, bool]] = {
    "4.2": ("rtt", avq.theorem_4_2, True),
    "4.6": ("flows", avq.theorem_4_6, False),
    "4.7": ("gamma", avq.theorem_4_7, True),
}


def other_rules() -> dict[str, Quantity]:
    """Theorems 4.2, 4.6 and 4.7 over alpha d, at the design of Experiment 1, with the exact
    boundary of each."""
    out: dict[str, Quantity] = {}
    for name, (of, bound, below) in OTHERS.items():
        inner, beyond, share, equilibrium = [], [], [], []
        for pace in PACES:
            at = Avq(CAPACITY, FLOWS, RTT, GAMMA, pace / RTT)
            limit = bound(at)
            sign = 1.0 if below else -1.0
            ladder = [limit * x**sign for x in (0.3, 0.7, INSIDE)]
            # Beyond gamma = 1, and where gamma is above 1, no setting exists.
            inner.append(max(growth(replace(at, **{of: x})) for x in ladder))
            end = 1.0 if of == "gamma" else limit * 1e4**sign
            exact = None if limit == end else avq.theorem_4_1(at, of, limit, end)
            share.append(0.0 if exact is None else (limit / exact) ** sign)
            sides = [1.0, -1.0] if exact is None else [
                growth(replace(at, **{of: exact * x**sign})) for x in (OUTSIDE, INSIDE)
                if not (of == "gamma" and exact * x**sign > 1)
            ]  # fmt: skip
            beyond.append(sides[0] if len(sides) == 2 else 1.0)
            equilibrium.append(replace(at, **{of: limit}).marked)
        for what, label, values in (
            ("inside", "Largest growth at 0.3 to 0.99 of it", inner),
            ("outside", "Growth at 1.01 of the exact boundary", beyond),
            ("share", "Its bound over the exact boundary", share),
            ("marked", "p* at its bound", equilibrium),
        ):
            out[f"{what}.{name}"] = computed(label, f"Theorem {name}", values, PACE, PACES)
    return out


def example() -> dict[str, Quantity]:
    """Example 4.1 with the number of users as printed, and with 150; 0 where there is no alpha."""
    out = {}
    for users in (50, 150):
        at = [Avq(CAPACITY, users, rtt, GAMMA, 1.0) for rtt in DELAYS]
        for name, values in (
            ("(23)", [avq.theorem_2_1(each) or 0.0 for each in at]),
            ("(24)", [avq.theorem_4_4(each) or 0.0 for each in at]),
        ):
            out[f"example.{name}.{users}"] = computed(
                "alpha", f"{name}, {users} users", values, "d", DELAYS, "1/s"
            )
    return out


def design() -> dict[str, Quantity]:
    """The design of Experiment 1: theorems, windows at which there is an equilibrium, and the
    nonlinear model on both sides of the boundary."""
    found = avq.design(CAPACITY, FLOWS, RTT, GAMMA)
    inside, outside = check(found)
    at = Avq(CAPACITY, FLOWS, RTT, GAMMA, 0.8)
    windows = [w / 1000 for w in range(1225, 10_000, 5)]
    guaranteed = [w for w in windows if avq.theorem_2_1(at_window(w)) is not None]
    stable = [w for w in windows if replace(at_window(w), alpha=1e-6).phase < math.pi]
    equilibrium = RTT * math.sqrt(at.marked)
    return {
        "design.alpha": single("alpha by Theorem 2.1", "Experiment 1", [found.chosen], "1/s"),
        "design.exact": single("alpha by Theorem 4.1", "Experiment 1", [found.boundary or 0.0]),
        "design.root": single("Growth at alpha = 0.8", "Experiment 1", [growth(at)]),
        "fluid.inside": single("Growth below the boundary", "fluid model", [inside.measured]),
        "fluid.outside": single("Growth above the boundary", "fluid model", [outside.measured]),
        "reach.2.1": single("Largest window", "Theorem 2.1", [max(guaranteed)], "packets"),
        "reach.4.1": single("Largest window", "Theorem 4.1", [max(stable)], "packets"),
        "least.rtt": single("Shortest round trip with p* < 1", "180 flows", [equilibrium], "s"),
    }


def measure(_runs: Runs, _choice: Choice) -> Quantities:
    """All of them."""
    return {**alpha_rules(), **other_rules(), **example(), **design()}


def draw(_runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """How much of the exact boundary each bound leaves."""
    return [
        sweep_figure(
            "Theory 1",
            "Bounds of Theorems 4.2, 4.6 and 4.7 over the exact boundary of Theorem 4.1 (for N its "
            "inverse); 0 where there is no boundary. 180 flows, 350 ms.",
            [quantities[f"share.{name}"] for name in OTHERS],
            PACE,
            log_x=True,
        )
    ]


EXPERIMENT = Experiment(
    readings=(
        "Stability is that of the linear model (4), (5), by its rightmost root; the nonlinear "
        "model (2), (3) is solved on both sides of one boundary.",
        "Theorem 2.1 is Theorem 4.3. Time is counted in round trips: then windows and alpha d are "
        "the only parameters.",
    ),
    setups=theory_alone,
    measure=measure,
    draw=draw,
)
