"""Output of ``marqueue theory chain``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from marqueue.cli.console import output, table
from marqueue.design.chain_assumptions import Row
from marqueue.theory.marking_chain import ChainResult, MeanField, MeanWindow, Model

FIGURES = {
    "load": "load rho",
    "utilization": "utilization",
    "overload": "time overloaded",
    "load_deviation": "standard deviation of rho",
    "h": "h = Var ΣW / ΣVar W",
    "mean_window": "mean window (packets)",
    "loss_bound": "loss, bound",
    "loss": "loss in equilibrium",
}
"""Estimates over replications, with their labels."""


def print_result(result: ChainResult, mean: MeanWindow | None, field: MeanField | None) -> None:
    """Prints figures with their intervals, queue quantiles, and the stability of the mean field."""
    model = result.model
    output.print(f"[bold]N = {model.flows:,}[/bold], buffer {result.buffer} packets")
    listing = table("", "")
    for name, title in FIGURES.items():
        listing.add_row(title, str(getattr(result, name)))
    quantiles = ", ".join(
        f"{level:g}: {'∞' if n is None else n}" for level, n in result.queue_quantiles.items()
    )
    listing.add_row("queue quantiles (packets)", quantiles)
    peak = result.spectrum.peak
    listing.add_row("spectrum peaks at (cycles per T)", f"{peak:.3g}")
    if mean is not None:
        verdict = "stable" if mean.stable else "oscillates"
        listing.add_row("map of the mean window", f"g = {mean.gain:.3g}: {verdict}")
    if field is not None:
        verdict = "stable" if field.stable else "oscillates"
        listing.add_row(
            "mean field of all windows",
            f"rho = {field.load:.4f}, margin {field.margin:.3g}: {verdict}",
        )
    output.print(listing)


def print_rows(rows: Sequence[Row]) -> None:
    """Prints h and utilization of each row, two columns for each number of flows."""
    flows = list(dict.fromkeys(row.flows for row in rows))
    listing = table("", *(f"{what}, N = {n}" for n in flows for what in ("h", "utilization")))
    for what in dict.fromkeys(row.what for row in rows):
        of = {row.flows: row.figures for row in rows if row.what == what}
        listing.add_row(what, *(str(x) for n in flows for x in (of[n].h, of[n].utilization)))
    output.print(listing)


def plain_result(
    result: ChainResult, mean: MeanWindow | None, field: MeanField | None
) -> dict[str, Any]:
    """Ready for JSON."""
    lengths, tail = result.queue
    return {
        "flows": result.model.flows,
        **{name: getattr(result, name).as_dict() for name in FIGURES},
        "buffer_packets": result.buffer,
        "queue_quantiles_packets": {f"{q:g}": n for q, n in result.queue_quantiles.items()},
        "queue": {"at_least_packets": lengths.tolist(), "probability": tail.tolist()},
        "windows": result.windows.tolist(),
        "spectrum": {
            "cycles_per_rtt": result.spectrum.frequency.tolist(),
            "density": result.spectrum.density.tolist(),
            "peak_cycles_per_rtt": result.spectrum.peak,
        },
        "mean_window_map": None if mean is None else {**vars(mean), "stable": mean.stable},
        "mean_field": None if field is None else plain_field(field, result.model),
    }


def plain_field(field: MeanField, model: Model) -> dict[str, Any]:
    """Ready for JSON."""
    period = field.period(model.steps_per_unit)
    return {
        "load": field.load,
        "gain_margin": field.margin if math.isfinite(field.margin) else None,
        "unstable_modes": field.around,
        "stable": field.stable,
        "period_at_boundary_rtt": period,
    }


def plain_model(model: Model) -> dict[str, Any]:
    """The settings that all runs share, ready for JSON."""
    return {
        "ct_packets": model.ct,
        "a": model.a,
        "b": model.exponent,
        "buffer_of_one_flow_packets": model.buffer,
        "marking": model.scaled[0],
        "queue": model.queue,
        "greatest_window_packets": model.window,
        "rtt_classes": [{"rtt": each.rtt, "share": each.share} for each in model.classes],
        "slots": model.steps_per_unit,
    }
