"""Measures: figures of the link, dependence of windows, and marks by the central limit theorem
alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import kstest, norm

import marqueue._core as _core
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.quantity import FIGURES, Quantities, Quantity, Runs, side_by_side, single
from marqueue.papers.small_buffer.setups import BUFFER, CURVES, EPS, GROUP, PACKETS, inverse_rtt
from marqueue.results import Result
from marqueue.statistics.estimates import Floats

#: The four quantities of Figure 4 by short name: the figure of a link.
PERFORMANCE = {
    "delay": "delay_mean",
    "jitter": "delay_std",
    "utilization": "utilization",
    "loss": "loss_ratio",
}

#: Labels of their axes.
LABELS = {
    "delay": "Delay, mean",
    "jitter": "Delay, std. deviation",
    "utilization": "Utilization",
    "loss": "Loss ratio",
}

#: Number of points of an integral.
POINTS = 4001


def of_link(run: Result, of: str, figure: str, link: str | None = None) -> Quantity:
    """A figure of a link over the measured time."""
    taken = FIGURES[figure]
    values = [taken.value(window) * taken.scale for window in run.link(link).windows()]
    return single(taken.label, of, values, taken.unit)


def swept(runs: Runs, names: Mapping[float, str], how: Callable[[Result], Quantity]) -> Quantity:
    """A quantity measured in each run, by the number of flows; runs that were left out are
    skipped."""
    return side_by_side({n: how(runs[name]) for n, name in names.items() if name in runs}, "N")


def performance(
    runs: Runs, names: Mapping[float, str], of: str, key: str, link: str | None = None
) -> Quantities:
    """The four figures by the number of flows, each named with ``key``."""
    return {
        f"{name}.{key}": swept(runs, names, partial(of_link, of=of, figure=figure, link=link))
        for name, figure in PERFORMANCE.items()
    }


def fall(quantity: Quantity, first: float, last: float) -> Quantity:
    """The quantity at ``last`` relative to ``first``."""
    a, b = (quantity.values[:, quantity.place(at)] for at in (first, last))
    both = ~np.isnan(a + b)
    return single(f"{quantity.label}, N {last:g} over N {first:g}", quantity.of, (b / a)[both])


def difference(a: Quantity, b: Quantity) -> Quantity:
    """The difference of two quantities at the same places."""
    return replace(
        a, label=f"{a.label}, difference", of=f"{a.of}, {b.of}", values=a.values - b.values
    )


def dependence(run: Result, of: str) -> Quantity:
    """h(N)."""
    values = [each.dependence for each in run.cwnds(group=GROUP)]
    return single("h, variance of the sum of windows over the sum of variances", of, values)


def sum_of_windows(run: Result, of: str, label: str, how: Callable[[Floats], float]) -> Quantity:
    """A quantity measured on samples of the sum of windows."""
    return single(label, of, [how(each.total) for each in run.cwnds(group=GROUP)], "packets")


def windows(run: Result, of: str) -> Quantities:
    """Mean and standard deviation of the sum of windows, and its distance from a Gaussian."""
    return {
        "windows.mean": sum_of_windows(run, of, "Sum of windows, mean", lambda x: float(x.mean())),
        "windows.std": sum_of_windows(
            run, of, "Sum of windows, standard deviation", lambda x: float(x.std())
        ),
        "windows.normal": replace(
            sum_of_windows(run, of, "Distance from a Gaussian", distance_from_normal), unit=""
        ),
    }


def distance_from_normal(total: Floats) -> float:
    """The largest distance between the distribution and that of a fitted Gaussian (the statistic of
    Kolmogorov and Smirnov)."""
    fitted = norm(total.mean(), total.std())
    return float(kstest(total, fitted.cdf).statistic)


def marked_by_clt(scheme: str, flows: float, a: float, mean: float, std: float) -> float:
    """The probability of a mark if the queue were a Gaussian sum of windows minus the
    bandwidth-delay product.

    Eun and Wang's (27). Arrivals are a fluid, so that there is a queue only while the sum of
    windows exceeds the product, and the queue is their difference. Arrivals beyond the buffer are
    lost, not marked. ``mean`` and ``std`` are those of the difference, packets.
    """
    queue = np.linspace(0.0, BUFFER * flows ** (a + EPS), POINTS)
    p = _core.ChainQueue((CURVES[scheme], flows, a, a + EPS, BUFFER), "mm1").curve(queue)
    return float(np.trapezoid(p * norm.pdf(queue, mean, std), queue))


def clt(run: Result, scheme: str, flows: float, a: float, *, shifted: bool) -> Quantity:
    """The same probability for the measured windows as if they were independent. The mean is that
    of the measured utilization or, if ``shifted``, the bandwidth-delay product, the most favourable
    choice."""
    pipe = flows * PACKETS / inverse_rtt()
    values = [
        marked_by_clt(
            scheme, flows, a, 0.0 if shifted else (used - 1) * pipe, float(np.sqrt(each.variance))
        )
        for each, used in zip(run.cwnds(group=GROUP), run.link().values("utilization"), strict=True)
    ]
    return single("Probability of a mark", "CLT, shifted" if shifted else "CLT", values)


def performance_figures(
    name: str, caption: str, quantities: Quantities, keys: Sequence[str], log_x: bool = True
) -> list[PaperFigure]:
    """Delay, its variation, utilization and loss, of schemes by their keys."""
    letters = dict(zip(PERFORMANCE, "abcd", strict=True))
    return [
        sweep_figure(
            f"{name}{letter}",
            caption,
            [replace(quantities[f"{figure}.{key}"], label=LABELS[figure]) for key in keys],
            "N",
            log_x=log_x,
        )
        for figure, letter in letters.items()
    ]
