"""Common parts of the experiments on edge deployment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.drq.figures import schemes
from marqueue.papers.drq.measures import (
    named,
    of_link,
    optima,
    quotient,
    rate,
    share,
    swept,
    total,
)
from marqueue.papers.drq.setups import BITS, SCHEMES, label
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.quantity import Quantities, Quantity, Runs

GROUPS = ("SG1", "SG2", "SG3")
#: Groups that cross the edge router's CPU.
BEHIND = ("SG1", "SG2")
EDGE, CPU = "IE1", "IE1/cpu"
CORE = ("L1", "L2")


def goodputs(runs: Runs, places: Sequence[float], variable: str, rtt: int) -> dict[str, Quantity]:
    """Goodputs of the groups, total goodput of those behind the CPU, and shares of the CPU; ``rtt``
    is the round-trip propagation delay, ms."""
    out = {}
    for scheme in SCHEMES:
        names, of = named(scheme, places), label(scheme)
        for group in GROUPS:
            out[f"{group}.{scheme}"] = swept(runs, names, variable, rate, group, group)
        out[f"both.{scheme}"] = swept(runs, names, variable, total, of, BEHIND)
        out[f"ratio.{scheme}"] = quotient(
            out[f"SG2.{scheme}"], out[f"SG1.{scheme}"], f"SG2 over SG1, {of}"
        )
        out[f"cpu.{scheme}"] = swept(runs, names, variable, of_link, of, "utilization", CPU)
        shares = [swept(runs, names, variable, share, of, group, CPU) for group in BEHIND]
        both = Quantity("", of, shares[0].values + shares[1].values, "", variable, shares[0].places)
        out[f"unfair.{scheme}"] = quotient(shares[0], both, "SG1's part of the cycles used")
        out[f"wait.{scheme}"] = swept(runs, names, variable, of_link, of, "delay_mean", CPU)
        losses = [swept(runs, names, variable, of_link, of, "loss_ratio", each) for each in CORE]
        out[f"core-loss.{scheme}"] = replace(
            losses[0], label="Loss ratio of L1 and L2", values=losses[0].values + losses[1].values
        )
        out[f"held.{scheme}"] = held(out[f"wait.{scheme}"], out[f"core-loss.{scheme}"], rtt)
    for scheme in ("drq", "drr-red"):
        out[f"gain.{scheme}"] = quotient(
            out[f"both.{scheme}"], out["both.red-red"], f"{label(scheme)} over RED-RED"
        )
    return out


def held(wait: Quantity, loss: Quantity, rtt: int) -> Quantity:
    """The goodput of a flow through the edge if only the core limits it, Mbit/s: Reno's sqrt(3/2) M
    / (tau sqrt(p)), with queueing at the edge as part of tau."""
    tau = 1e-3 * (rtt + wait.values)
    with np.errstate(divide="ignore"):  # Without losses the core does not limit it.
        values = 1e-6 * np.sqrt(1.5 / loss.values) * BITS / tau
    return replace(loss, label="Goodput as the core's losses allow", values=values, unit="Mbit/s")


def edge_figures(
    number: str, axis: str, places: Sequence[float], runs: Runs, quantities: Quantities
) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, the aggregate of the groups behind the CPU, and utilization of the CPU;
    ``axis`` says of what ``places`` are."""
    caption = "Goodput of SG1 and SG2 together, by what is at IE1 and EE1."
    return [
        *(
            sweep_figure(
                f"Figure {number}, {label(scheme)}",
                f"Mean goodput of a flow of each group, {label(scheme)} at IE1 and EE1.",
                [quantities[f"{group}.{scheme}"] for group in GROUPS],
                axis,
            )
            for scheme in SCHEMES
        ),
        schemes(f"Figure {number} (d)", caption, quantities, "both", axis),
        edge_table(f"Table {number}", axis, named("drq", places), runs, quantities),
    ]


def edge_table(
    name: str, variable: str, names: Mapping[float, str], runs: Runs, quantities: Quantities
) -> PaperTable:
    """By place: the region if all resources had DRQ, utilization of the CPU, and SG1's share of
    it."""
    return PaperTable(
        name,
        "The region at the optimum, were DRQ everywhere; utilization of the CPU of IE1, and the "
        "part of the cycles used that SG1 has, by scheme.",
        (variable, "Region", *(f"{what}, {label(s)}" for s in SCHEMES for what in ("CPU", "SG1"))),
        [
            [
                place,
                best.region_of((CPU, "L1", "L2")),
                *(
                    quantities[f"{key}.{s}"].estimates[i]
                    for s in SCHEMES
                    for key in ("cpu", "unfair")
                ),
            ]
            for i, (place, best) in enumerate(zip(names, optima(runs, names), strict=True))
        ],
    )
