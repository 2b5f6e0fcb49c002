"""Output of the commands of ``marqueue theory mkc``."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from marqueue.cli.console import output, table
from marqueue.results.output_file import write_output_file
from marqueue.theory.mkc.equilibrium import FixedPoint
from marqueue.theory.mkc.maps import Trajectory
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.report import Report


def draw(done: Trajectory, network: Network, file: Path) -> None:
    """Draws rates (top) and arrivals at resources (bottom). Raises RunError."""
    # Matplotlib takes longer to load than other commands take to run.
    from marqueue.plots import line_plot, panels, svg

    drawn, axes = panels(2, height=2.2)
    step = np.arange(len(done.total), dtype=float)
    curves = {f"source {i}": (step, done.rates[:, k] / 1e6) for k, i in enumerate(done.watched)}
    line_plot(curves, "Step", "Rate", "Mbit/s", axes=axes[0])
    arrivals = {
        f"resource {j}": (step, done.arrivals[:, j] / 1e6) for j in range(network.resources)
    }
    line_plot(arrivals, "Step", "Arrivals", "Mbit/s", axes=axes[1])
    for c in np.unique(network.capacity):
        axes[1].axhline(c / 1e6, color="grey", linewidth=0.7, linestyle=":")
    axes[0].label_outer()
    write_output_file(file, svg(drawn))


def print_rates(rates: Any, of: tuple[int, ...], title: str, bottleneck: Any = None) -> None:
    """Prints a table of some sources."""
    titles = ["source", title] + ([] if bottleneck is None else ["bottleneck"])
    listing = table(*titles)
    for i, rate in zip(of, rates, strict=True):
        row = [str(i), f"{rate:.8g}"] + ([] if bottleneck is None else [str(bottleneck[i])])
        listing.add_row(*row)
    output.print(listing)


def print_resources(network: Network, arrivals: Any, prices: Any, loss: Any = None) -> None:
    """Prints a table of all resources."""
    titles = ["resource", "capacity (bit/s)", "arrivals (bit/s)", "price"]
    listing = table(*titles, *([] if loss is None else ["lost"]))
    for j in range(network.resources):
        cells = [f"{network.capacity[j]:.8g}", f"{arrivals[j]:.8g}", f"{prices[j]:.6g}"]
        listing.add_row(str(j), *cells, *([] if loss is None else [f"{loss[j]:.4g}"]))
    output.print(listing)


def numbers(values: Any) -> list[Any]:
    """Numbers ready for JSON: None in place of infinities and NaN."""
    return [
        numbers(each) if np.ndim(each) else (float(each) if math.isfinite(each) else None)
        for each in values
    ]


def plain_trajectory(done: Trajectory) -> dict[str, Any]:
    """Rates of sources and resources ready for JSON, one value per step."""
    return {
        "sources": list(done.watched),
        "rates_bit_per_s": numbers(done.rates.T),
        "arrivals_bit_per_s": numbers(done.arrivals.T),
        "prices": numbers(done.prices.T),
        "total_bit_per_s": numbers(done.total),
        "fairness": numbers(done.fairness),
        "diverged_at_step": done.diverged,
    }


def plain_point(point: FixedPoint) -> dict[str, Any]:
    """Stationary rates, ready for JSON."""
    return {
        "rates_bit_per_s": numbers(point.rates),
        "bottleneck": None if point.bottleneck is None else point.bottleneck.tolist(),
        "capacity_bit_per_s": numbers(point.network.capacity),
        "arrivals_bit_per_s": numbers(point.arrivals),
        "prices": numbers(point.prices),
        "loss": numbers(point.loss),
    }


def plain_report(report: Report) -> dict[str, Any]:
    """Conditions and the exact boundary, ready for JSON."""
    return {
        "fixed_point": plain_point(report.point),
        "conditions": [
            {
                "name": each.name,
                "source": each.source,
                "kind": each.kind,
                "values": numbers(each.values),
                "more_than": each.low,
                "less_than": numbers(each.high),
                "holds": each.holds,
            }
            for each in report.conditions
        ],
        "exact": {
            "verdict": report.verdict,
            "stable": report.stable,
            "spectral_radius": report.radius,
        },
        "gain": report.gain,
        "gain_may_be_scaled_by": report.scale,
        "condition_allows_scale": report.allowed,
        "under_any_delays": [{"resource": j, **vars(each)} for j, each in report.any_delay],
    }
