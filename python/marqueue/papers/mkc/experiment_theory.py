"""The lemmas, theorems and corollaries of sections 3 to 5, on both sides of their boundaries, with
random networks, matrices and delays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment, theory_alone
from marqueue.papers.quantity import Quantities, Quantity, Runs, computed, single
from marqueue.papers.readings import Choice
from marqueue.statistics.estimates import Floats
from marqueue.theory.mkc import (
    Aimd,
    Kelly,
    Loss,
    Mkc,
    Network,
    Power,
    Trajectory,
    convergence,
    iterate,
)
from marqueue.theory.mkc.equilibrium import kelly_fixed_point, mkc_fixed_point
from marqueue.theory.mkc.linear import delayed_system, linearize_mkc
from marqueue.theory.mkc.network import Integers

SEED = 1
#: Random cases of each kind, and the longest random delay each way, steps.
CASES, LONGEST = 60, 6
#: Sources of random systems.
SOURCES = (2, 3, 6)
RADII = (0.5, 0.9, 0.99, 1.01, 1.1)
#: The left side of (32), on both sides of 2.
CONDITIONS = (1.0, 1.9, 1.99, 2.01, 2.1)
BETAS = (0.1, 1.0, 1.9, 1.99, 2.01, 2.1)
#: Those of the map that is iterated.
ITERATED = (0.1, 0.5, 1.0, 1.9, 2.1)
ALPHA = 10.0
"""kbit/s."""
CAPACITY = 1000.0
LOSS = Loss(np.array([CAPACITY]))
#: Theorems 5 and 6: capacities with two flows, kbit/s.
CAPACITIES = (300.0, 1000.0, 3000.0, 10_000.0)
EPSILONS = (0.3, 0.1, 0.01, 0.001)
EPSILON = 0.1
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: Steps of the map: e^-24 of a deviation is left at a spectral radius of 0.998, the largest below.
STEPS = 12_000
RATIO, BETA, LOAD, RADIUS = "C", "beta", "(32)", "rho"


def random() -> np.random.Generator:
    """The same numbers for each theorem, whatever the others draw."""
    return np.random.default_rng(SEED)


def lemma_1() -> dict[str, Quantity]:
    """Kelly control with losses (7), (8) on random networks: how far sum M_i x_i is from sum C_j +
    N omega, relative."""
    rng, worst = random(), 0.0
    for _ in range(CASES):
        resources, sources = int(rng.integers(1, 6)), int(rng.integers(6, 12))
        routes = [
            sorted(rng.choice(resources, rng.integers(1, resources + 1), replace=False))
            for _ in range(sources)
        ]
        routes += [[j] for j in range(resources)]  # every resource is used
        capacity, omega = rng.uniform(10, 100, resources), float(rng.uniform(0.1, 5))
        network = Network.of(capacity, routes)
        point = kelly_fixed_point(network, Kelly(0.1, omega), Loss(capacity))
        used = sum(len(r) * x for r, x in zip(routes, point.rates, strict=True))
        expected = capacity.sum() + len(routes) * omega
        worst = max(worst, abs(used / expected - 1))
    return {"lemma-1": single("Relative residual, largest", "Lemma 1", [worst])}


def delays(rng: np.random.Generator, n: int) -> tuple[Integers, Integers]:
    """Random steps from each source and back to it."""
    return rng.integers(0, LONGEST + 1, n), rng.integers(1, LONGEST + 1, n)


def theorem_1() -> dict[str, Quantity]:
    """Random matrices of a given spectral radius under random delays."""
    found: dict[str, list[Floats]] = {"symmetric": [], "other": []}
    for radius in RADII:
        rng = random()
        each: dict[str, list[float]] = {"symmetric": [], "other": []}
        for case in range(CASES):
            n = SOURCES[case % len(SOURCES)]
            a = rng.normal(size=(n, n))
            to, back = delays(rng, n)
            for kind, matrix in (("symmetric", a + a.T), ("other", a)):
                scaled = matrix * (radius / np.abs(np.linalg.eigvals(matrix)).max())
                each[kind].append(delayed_system(scaled, to, back).radius())
        for kind, radii in each.items():
            found[kind].append(np.array(radii))
    out = {}
    for kind, values in found.items():
        of = f"{kind} matrices"
        for name, label, how in (
            ("most", "Largest spectral radius with delays", np.max),
            ("least", "Smallest spectral radius with delays", np.min),
            ("unstable", "Share that is unstable with delays", lambda v: np.mean(v > 1)),
        ):
            out[f"theorem-1.{name}.{kind}"] = computed(
                label, of, [float(how(v)) for v in values], RADIUS, RADII
            )
    return out


def mkc_radii(
    price: Loss | Power, beta: float, sources: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The spectral radius of MKC without delays, and with random ones."""
    law = Mkc(ALPHA, beta)
    radii = []
    for to, back in (
        (np.zeros(sources, dtype=int), np.ones(sources, dtype=int)),
        delays(rng, sources),
    ):
        network = Network.single(CAPACITY, sources, to + back, list(to))
        point = mkc_fixed_point(network, law, price)
        radii.append(linearize_mkc(point, law, price).radius())
    return radii[0], radii[1]


def condition_32(beta: float, sources: int, price: Power) -> float:
    """The left side of (32)."""
    network = Network.single(CAPACITY, sources)
    point = mkc_fixed_point(network, Mkc(ALPHA, beta), price)
    load = float(point.prices[0] + point.arrivals[0] * price.slope(point.arrivals)[0])
    return beta * load


def theorem_3() -> dict[str, Quantity]:
    """MKC with the price (X / C)^k at each value of (32), without delays and with random ones."""
    plain, delayed = [], []
    for target in CONDITIONS:
        rng = random()
        pairs = []
        for sources in SOURCES:
            for exponent in (0.5, 2.0, 8.0):
                price = Power(np.array([CAPACITY]), exponent)

                def excess(
                    log: float, n: int = sources, p: Power = price, t: float = target
                ) -> float:
                    return condition_32(float(np.exp(log)), n, p) - t

                beta = float(np.exp(brentq(excess, -20, 60)))
                pairs += [mkc_radii(price, beta, sources, rng) for _ in range(3)]
        plain.append(np.array([p for p, _ in pairs]))
        delayed.append(np.array([d for _, d in pairs]))
    return extremes("theorem-3", "no delays", plain, LOAD, CONDITIONS) | extremes(
        "corollary-2", "random delays", delayed, LOAD, CONDITIONS
    )


def theorem_4() -> dict[str, Quantity]:
    """EMKC with each beta under random delays; and all delays equal."""
    equal, unequal = [], []
    for beta in BETAS:
        rng = random()
        radii = [mkc_radii(LOSS, beta, SOURCES[case % len(SOURCES)], rng) for case in range(CASES)]
        equal.append(np.array([e for e, _ in radii]))
        unequal.append(np.array([u for _, u in radii]))
    return extremes("theorem-4.equal", "no delays", equal, BETA, BETAS) | extremes(
        "theorem-4.unequal", "random delays", unequal, BETA, BETAS
    )


def extremes(
    name: str, of: str, radii: Sequence[Floats], variable: str, places: Sequence[float]
) -> dict[str, Quantity]:
    """The largest and the smallest spectral radius at each place."""
    return {
        f"{name}.{what}": computed(
            f"{label} spectral radius", of, [float(how(each)) for each in radii], variable, places
        )
        for what, label, how in (("most", "Largest", np.max), ("least", "Smallest", np.min))
    }


def stationary() -> dict[str, Quantity]:
    """Iterated EMKC with random delays: its distance from x* = C/N + alpha/beta (46) and from p*
    after STEPS; and from (52) with equal delays at multiples of D."""
    rates, losses, formula = [], [], []
    for beta in ITERATED:
        rng = random()
        away, lost = 0.0, 0.0
        for sources in SOURCES:
            to, back = delays(rng, sources)
            start = CAPACITY / sources * rng.uniform(0.8, 1.2, sources)
            network = Network.single(CAPACITY, sources, to + back, list(to))
            # Beyond beta = 2 the map warns, which is what is looked at.
            with np.errstate(all="ignore"):
                run = iterate_quietly(network, Mkc(ALPHA, beta), start, STEPS)
            expected = CAPACITY / sources + ALPHA / beta
            p = sources * ALPHA / (CAPACITY * beta + sources * ALPHA)
            away = max(away, finite(np.abs(run.rates[-1] / expected - 1).max()))
            lost = max(lost, finite(abs(run.prices[-1, 0] / p - 1)))
        rates.append(away)
        losses.append(lost)
        formula.append(lemma_2(beta))
    return {
        "stationary.rate": computed("Distance from x*, relative", "EMKC", rates, BETA, ITERATED),
        "stationary.loss": computed("Distance from p*, relative", "EMKC", losses, BETA, ITERATED),
        "lemma-2": computed("Distance from (52) over C", "EMKC", formula, BETA, ITERATED),
    }


def iterate_quietly(network: Network, law: Mkc, start: Floats, steps: int) -> Trajectory:
    """The map of EMKC, without the warning that beta is 2 or more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return iterate(network, law, Loss(network.capacity), start, steps)


def finite(value: float) -> float:
    """The value; what is not finite or above a million counts as a million."""
    return float(min(value, 1e6)) if np.isfinite(value) else 1e6


def lemma_2(beta: float) -> float:
    """The largest distance between iteration and (52), over C, from an empty and from an overloaded
    link, relative to the largest rate."""
    worst = 0.0
    for delay in (1, 3, 8):
        for initial in (0.05, 3.0):
            network = Network.single(CAPACITY, 3, delay)
            start = initial * CAPACITY * np.array([0.2, 0.3, 0.5])
            run = iterate_quietly(network, Mkc(ALPHA, beta), start, 40 * delay)
            n = np.arange(0, 40 * delay + 1, delay)
            expected = convergence.total_rate(
                n.astype(float), delay, CAPACITY, 3, ALPHA, beta, initial * CAPACITY
            )
            off = np.abs(run.total[n] - expected) / np.abs(expected).max()
            worst = max(worst, float(off.max()))
    return worst


def fairness() -> dict[str, Quantity]:
    """Theorems 5 and 6 and Corollary 3: iteration from the most unfair rates less theory, steps and
    relative."""
    out: dict[str, Quantity] = {}
    for name, of, law, theory in (
        ("theorem-5", "EMKC", Mkc(ALPHA, 0.5), convergence.steps_mkc),
        ("theorem-6", "AIMD", Aimd(ALPHA, 0.5), convergence.steps_aimd),
    ):
        by_capacity = [difference(law, theory, c, 2, 0.5, EPSILON) for c in CAPACITIES]
        by_epsilon = [difference(law, theory, CAPACITY, 2, 0.5, e) for e in EPSILONS]
        for what, variable, places, values in (
            ("capacity", RATIO, CAPACITIES, by_capacity),
            ("epsilon", "epsilon", EPSILONS, by_epsilon),
        ):
            out[f"{name}.steps.{what}"] = computed(
                "Iterated less theory", of, [abs(s) for s, _ in values], variable, places, "steps"
            )
            out[f"{name}.relative.{what}"] = computed(
                "Iterated less theory, relative", of, [abs(r) for _, r in values], variable, places
            )
    ratios = []
    for beta in SHARES:
        mkc = convergence.iterated_steps(Mkc(ALPHA, beta), 3000.0, 2, EPSILON)
        aimd = convergence.iterated_steps(Aimd(ALPHA, beta), 3000.0, 2, EPSILON)
        assert mkc is not None
        assert aimd is not None
        ratios.append(mkc / aimd / convergence.ratio(beta))
    out["corollary-3"] = computed(
        "Steps of EMKC over those of AIMD, over -ln(1 - beta)/beta", "iterated", ratios, BETA,
        SHARES,
    )  # fmt: skip
    return out


def difference(
    law: Mkc | Aimd, theory: Callable[..., float], capacity: float, sources: int, beta: float,
    epsilon: float,
) -> tuple[float, float]:  # fmt: skip
    """Iterated steps less those of theory; and the same relative to theory."""
    steps = convergence.iterated_steps(law, capacity, sources, epsilon)
    expected = theory(capacity, sources, ALPHA, beta, epsilon)
    assert steps is not None, "within three times the theory"
    return steps - expected, steps / expected - 1


def measure(_runs: Runs, _choice: Choice) -> Quantities:
    """All of them."""
    return {
        **lemma_1(), **theorem_1(), **theorem_3(), **theorem_4(), **stationary(), **fairness()
    }  # fmt: skip


def draw(_runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Spectral radii of EMKC over beta."""
    names = ("equal.most", "unequal.most", "unequal.least")
    labels = ("no delays", "random delays, largest", "random delays, smallest")
    curves = [
        computed("Spectral radius", label, quantities[f"theorem-4.{name}"].values[0], BETA, BETAS)
        for name, label in zip(names, labels, strict=True)
    ]
    caption = (
        f"EMKC: the spectral radius with {CASES} random sets of delays of up to {LONGEST} steps "
        "each way."
    )
    return [sweep_figure("Theory 1", caption, curves, BETA)]


EXPERIMENT = Experiment(
    readings=(
        "Theorem 1 and Corollary 2 are read as printed, delay by delay: with any given delays the "
        "system is stable if and only if it is without delays.",
        "The error terms of Theorems 5 and 6 are read as printed, in steps.",
    ),
    setups=theory_alone,
    measure=measure,
    draw=draw,
)
