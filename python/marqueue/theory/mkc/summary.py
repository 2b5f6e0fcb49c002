"""Numbers of the paper next to the same numbers computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.theory.mkc import convergence, equilibrium, paper_data
from marqueue.theory.mkc.laws import Aimd, Kelly, Mkc
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss
from marqueue.theory.mkc.report import report_kelly


@dataclass(frozen=True)
class Row:
    """A number from the paper's text or formulas, and the same computed by iteration."""

    name: str
    paper: tuple[float, ...]
    here: tuple[float, ...]


def rows() -> list[Row]:
    """All rows; takes about a second."""
    return [_figure_1(), *_figure_3(), *_figure_5(), *_fairness()]


def _row(name: str, paper: Sequence[float], here: Sequence[float]) -> Row:
    return Row(name, tuple(map(float, paper)), tuple(map(float, here)))


def _figure_1() -> Row:
    """kappa as a share of the stability boundary: by (3), and by the companion matrix."""
    shares, exact = [], []
    for delay in (1, 2, 3, 4):
        network = Network.single(1e9, 1, delay)
        found = report_kelly(network, Kelly(0.5, 10e6), Loss(network.capacity))
        shares.append(found.conditions[0].share)
        exact.append(math.nan if found.scale is None else 1 / found.scale)
    return _row("Figure 1: kappa over its boundary (3) at D = 1, 2, 3, 4", shares, exact)


def _figure_3() -> list[Row]:
    network = Network.of([30, 20, 20, 15], [[0, 1], [1, 2, 3]])
    rates = equilibrium.kelly_fixed_point(network, Kelly(0.1, 5), Loss(network.capacity)).rates
    return [
        _row("Figure 3: x1, x2 (Mbit/s)", [23.436, 16.042], rates.tolist()),
        _row("Lemma 1, (11): 2 x1 + 3 x2 (Mbit/s)", [95], [float(network.hops @ rates)]),
        _row("Figure 3: excess over C2", [0.97], [float(rates.sum()) / 20 - 1]),
    ]


def _figure_5() -> list[Row]:
    names = "Figure 5: steps of EMKC to 1 Gbit/s", "Figure 5: steps of Scalable TCP"
    found = (
        paper_data.steps_to_saturation(each, 1e9) or math.nan for each in paper_data.figure_5()
    )
    return [_row(n, [p], [h]) for n, p, h in zip(names, (16, 1200), found, strict=True)]


def _fairness() -> list[Row]:
    out, epsilons = [], (0.1, 0.01)
    c, a, b = paper_data.CAPACITY, paper_data.ALPHA, paper_data.BETA
    steps = {}
    for name, law, formula in (
        ("Theorem 5: steps of EMKC", Mkc(a, b), convergence.steps_mkc),
        ("Theorem 6: steps of AIMD", Aimd(a, b), convergence.steps_aimd),
    ):
        theory = [formula(c, 2, a, b, epsilon) for epsilon in epsilons]
        found = [convergence.iterated_steps(law, c, 2, epsilon) or math.nan for epsilon in epsilons]
        steps[law.name] = np.array(found)
        out.append(_row(f"{name} to 0.1- and 0.01-fairness", theory, found))
    ratio = [convergence.ratio(b)] * len(epsilons)
    out.append(_row("Corollary 3: their ratio", ratio, (steps["mkc"] / steps["aimd"]).tolist()))
    return out
