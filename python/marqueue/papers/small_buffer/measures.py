"""What is measured: the link, how windows depend on each other, and marks by the central limit
theorem alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import kstest, norm

import marqueue._core as _core
from marqueue.papers.drawn import PaperFigure, against
from marqueue.papers.quantity import FIGURES, Quantities, Quantity, Runs, side_by_side, single
from marqueue.papers.small_buffer.setups import BUFFER, CURVES, EPS, GROUP, PACKETS, inverse_rtt
from marqueue.results import Result
from marqueue.statistics.estimates import Floats

#: The four of Figure 4, by our short name: the figure of a link.
PERFORMANCE = {
    "delay": "delay_mean",
    "jitter": "delay_std",
    "utilization": "utilization",
    "loss": "loss_ratio",
}

#: What their axes are called.
LABELS = {
    "delay": "Delay, mean",
    "jitter": "Delay, std. deviation",
    "utilization": "Utilization",
    "loss": "Loss ratio",
}

#: Points of an integral.
POINTS = 4001


def of_link(run: Result, of: str, figure: str, link: str | None = None) -> Quantity:
    """A figure of a link over the measured time."""
    taken = FIGURES[figure]
    values = [taken.value(window) * taken.scale for window in run.link(link).windows()]
    return single(taken.label, of, values, taken.unit)


def swept(runs: Runs, names: Mapping[float, str], how: Callable[[Result], Quantity]) -> Quantity:
    """What is measured of each run, by the number of flows; of those that were run."""
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
    """What is left at ``last`` of what there was at ``first``."""
    a, b = (quantity.values[:, quantity.place(at)] for at in (first, last))
    both = ~np.isnan(a + b)
    return single(f"{quantity.label}, N {last:g} over N {first:g}", quantity.of, (b / a)[both])


def difference(a: Quantity, b: Quantity) -> Quantity:
    """Of two quantities at the same places."""
    return replace(
        a, label=f"{a.label}, difference", of=f"{a.of}, {b.of}", values=a.values - b.values
    )


def dependence(run: Result, of: str) -> Quantity:
    """h(N)."""
    values = [each.dependence for each in run.cwnds(group=GROUP)]
    return single("h, variance of the sum of windows over the sum of variances", of, values)


def of_total(run: Result, of: str, label: str, how: Callable[[Floats], float]) -> Quantity:
    """What is measured of the samples of the sum of windows."""
    return single(label, of, [how(each.total) for each in run.cwnds(group=GROUP)], "packets")


def windows(run: Result, of: str) -> Quantities:
    """Mean and standard deviation of the sum of windows, and how far it is from a Gaussian."""
    return {
        "windows.mean": of_total(run, of, "Sum of windows, mean", lambda x: float(x.mean())),
        "windows.std": of_total(
            run, of, "Sum of windows, standard deviation", lambda x: float(x.std())
        ),
        "windows.normal": replace(
            of_total(run, of, "Distance from a Gaussian", distance_from_normal), unit=""
        ),
    }


def distance_from_normal(total: Floats) -> float:
    """The largest distance of the distribution from that of a fitted Gaussian (Kolmogorov and
    Smirnov's statistic)."""
    fitted = norm(total.mean(), total.std())
    return float(kstest(total, fitted.cdf).statistic)


def marked_by_clt(scheme: str, flows: float, a: float, mean: float, std: float) -> float:
    """The probability of a mark if a Gaussian sum of windows less the pipe were the queue.

    Eun and Wang's (27): arrivals are a fluid, so that a queue is there only when the sum of windows
    exceeds the pipe, and is their difference; what is beyond the buffer is lost, not marked.
    ``mean`` and ``std`` are of that difference, packets.
    """
    queue = np.linspace(0.0, BUFFER * flows ** (a + EPS), POINTS)
    p = _core.ChainQueue((CURVES[scheme], flows, a, a + EPS, BUFFER), "mm1").curve(queue)
    return float(np.trapezoid(p * norm.pdf(queue, mean, std), queue))


def clt(run: Result, scheme: str, flows: float, a: float, *, shifted: bool) -> Quantity:
    """That probability for the measured windows, as if they were independent, with the mean that
    the measured utilization says; ``shifted``: with the mean at the pipe, where it suits most.
    """
    pipe = flows * PACKETS / inverse_rtt()
    values = [
        marked_by_clt(
            scheme, flows, a, 0.0 if shifted else (used - 1) * pipe, float(np.sqrt(each.variance))
        )
        for each, used in zip(run.cwnds(group=GROUP), run.link().values("utilization"), strict=True)
    ]
    return single("Probability of a mark", "CLT, shifted" if shifted else "CLT", values)


def four(
    name: str, caption: str, quantities: Quantities, keys: Sequence[str], log_x: bool = True
) -> list[PaperFigure]:
    """Delay, its variation, utilization and loss, of schemes by their keys."""
    letters = dict(zip(PERFORMANCE, "abcd", strict=True))
    return [
        against(
            f"{name}{letter}",
            caption,
            [replace(quantities[f"{figure}.{key}"], label=LABELS[figure]) for key in keys],
            "N",
            log_x=log_x,
        )
        for figure, letter in letters.items()
    ]
