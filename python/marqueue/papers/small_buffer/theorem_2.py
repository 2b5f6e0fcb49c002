"""Theorem 2 and (27) in the paper's chain, to 10^9 flows, beside packets: the share of time with a
queue of N^(a + e) packets, and the probability of a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from marqueue.papers.figures import BARS, PaperFigure
from marqueue.papers.quantity import Quantities, Quantity, computed, single
from marqueue.papers.small_buffer.setups import EPS, PACKETS, RTTS, A
from marqueue.plots import panels, sweep
from marqueue.results import Result
from marqueue.theory.marking_chain import Model, simulate

#: Numbers of flows in the chain.
CHAIN = (50.0, 200.0, 800.0, *(10.0**k for k in range(4, 10)))
MOST = max(CHAIN)
#: Packets of a flow in the pipe: those of the dumbbell.
CT = PACKETS * sum(RTTS) / 2000
#: Length and warm-up of the chain, T, and replications.
LENGTH, WARM_UP, REPLICATIONS = 500, 500, 3
TAIL, MARKS = "P(Q >= N^0.3)", "Probability of a mark"


def above(run: Result, of: str, flows: float) -> Quantity:
    """The share of the measured time with at least N^(a + e) packets waiting."""
    first = int(np.ceil(flows ** (A + EPS)))
    shares = [window.queue[first:].sum() / window.queue.sum() for window in run.link().windows()]
    return single(TAIL, of, shares)


def of_chain(scheme: str) -> Quantities:
    """Both figures in the chain with the dumbbell's pipe, the mean of its replications."""
    found = [_chain(scheme, int(flows)) for flows in CHAIN]
    return {
        f"chain.{name}.{scheme}": computed(label, scheme, values, "N", CHAIN)
        for name, label, values in zip(
            ("tail", "marks"), (TAIL, MARKS), zip(*found, strict=True), strict=True
        )
    }


@cache
def _chain(scheme: str, flows: int) -> tuple[float, float]:
    model = Model(flows, CT, A, scheme)
    return figures(model, simulate(model, LENGTH, WARM_UP, REPLICATIONS).loads, flows)


def figures(model: Model, loads: np.ndarray, flows: int) -> tuple[float, float]:
    """P(Q >= N^(a + e)), Q being without limit in overload as in the paper, and the share of
    packets that are marked, from the loads of all slots."""
    tail = model.at.tail(loads, np.array([flows ** (A + EPS)]))[0]
    marked = model.at.marking(loads, np.ones(1))[:, 0]
    return float(tail), float(np.dot(loads, marked) / loads.sum())


def drawn(quantities: Quantities, schemes: Sequence[str], formula: Quantity) -> PaperFigure:
    """Packets are marks, the chain is lines; (27) is the line without marks."""
    figure, axes = panels(2)
    rows = []
    for panel, name in zip(axes, ("tail", "marks"), strict=True):
        measured = [quantities[f"{name}.{scheme}"] for scheme in schemes]
        lines = [quantities[f"chain.{name}.{scheme}"] for scheme in schemes]
        sweep(
            measured[0].places,
            {each.of: each.estimates for each in measured},
            "N",
            measured[0].label,
            model={each.of: (each.places, list(each.values[0])) for each in lines},
            log_x=True,
            axes=panel,
        )
        panel.set_ylim(bottom=0.0)
        rows += [*measured, *(replace(each, of=f"{each.of}, chain") for each in lines)]
    within = [(n, p) for n, p in zip(formula.places, formula.values[0], strict=True) if n <= MOST]
    axes[1].plot(*zip(*within, strict=True), color="0.4")
    axes[1].annotate("(27)", within[-2], xytext=(0, 5), textcoords="offset points", color="0.4")
    legend = axes[1].get_legend()
    assert legend is not None, "three schemes have one"
    legend.remove()  # the upper panel has the same
    axes[0].set_xlabel("")
    data = [
        {"quantity": q.label, "of": q.of, "N": place, **estimate.as_dict()}
        for q in [*rows, formula]
        for place, estimate in zip(q.places, q.estimates, strict=True)
    ]
    return PaperFigure(
        "Theorem 2",
        "Marks: packets. Lines in their colours: the paper's chain with the same pipe, "
        f"{CT:g} packets a flow. Above: the share of time with a queue of N^0.3 packets or more. "
        "Below: the share of packets marked; (27): without random arrivals, under RED1. "
        f"{BARS}",
        figure,
        pa.Table.from_pylist(data),
    )
