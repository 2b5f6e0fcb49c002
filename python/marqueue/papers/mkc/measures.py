"""Measures: the sending rates of flows over time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marqueue.papers.figures import PaperFigure
from marqueue.papers.quantity import Quantity, Runs, side_by_side, single
from marqueue.plots import Plots, line_plot, panels
from marqueue.plots.timeseries import thin
from marqueue.results import Result
from marqueue.statistics.estimates import Floats
from marqueue.theory.mkc.maps import Trajectory


@dataclass(frozen=True)
class Rate:
    """A piecewise constant rate."""

    t: Floats
    """Times of changes, s."""
    value: Floats
    """Mbit/s."""
    end: float
    """End of the observation, s."""

    def within(self, begin: float, end: float) -> "Rate":
        """The rate from ``begin``, or its start if that is later, to ``end``, s."""
        first = max(0, int(np.searchsorted(self.t, begin, side="right")) - 1)
        last = int(np.searchsorted(self.t, end))
        return Rate(np.maximum(self.t[first:last], begin), self.value[first:last], end)

    def mean(self, begin: float, end: float) -> float:
        """The mean from ``begin`` to ``end``, s."""
        part = self.within(begin, end)
        return float(part.value @ np.diff(np.append(part.t, end)) / (end - part.t[0]))

    @property
    def fall(self) -> float:
        """The largest fall below an earlier value."""
        return float((np.maximum.accumulate(self.value) - self.value).max())

    def since(self, away: npt.NDArray[np.bool_]) -> float:
        """Time from the start until a condition ceases to hold for good, s; ``away[i]`` is the
        condition from ``t[i]`` on. The whole time if it never ceases."""
        last = np.flatnonzero(away)
        if not len(last):
            return 0.0
        until = np.append(self.t, self.end)[last[-1] + 1]
        return float(until - self.t[0])


def total(rates: Sequence[Rate]) -> Rate:
    """The sum of rates, each from its start."""
    t = np.unique(np.concatenate([rate.t for rate in rates]))
    value = np.zeros(len(t))
    for rate in rates:
        index = np.searchsorted(rate.t, t, side="right") - 1
        value += np.where(index >= 0, rate.value[index], 0.0)
    return Rate(t, value, min(rate.end for rate in rates))


def rates(run: Result) -> list[dict[str, Rate]]:
    """The rate of the only flow of each group, by replication."""
    flows, changes = run.flows, run.to_arrow("paced")
    group = {
        (r, f): g
        for r, f, g in zip(
            *(flows[name].to_pylist() for name in ("replication", "flow", "group")), strict=True
        )
    }
    shown = {name: changes[name].to_numpy() for name in ("replication", "flow", "t", "rate")}
    out: list[dict[str, Rate]] = [{} for _ in range(run.replications)]
    for (r, f), name in group.items():
        here = (shown["replication"] == r) & (shown["flow"] == f)
        if here.any():
            t, value = shown["t"][here], shown["rate"][here] * 1e-6
            out[r][name] = Rate(t, value, float(run.ends[r]))
    return out


def measure_rate(
    run: Result,
    label: str,
    of: str,
    measure: Callable[[Rate], float],
    unit: str = "",
    flow: str = "1",
) -> Quantity:
    """A quantity measured on the rate of one flow."""
    return single(label, of, [measure(each[flow]) for each in rates(run)], unit)


def measure_all_rates(
    run: Result, label: str, of: str, measure: Callable[[Sequence[Rate]], float], unit: str = ""
) -> Quantity:
    """A quantity measured on the rates of all flows, in the order of their names."""
    values = [measure([each[name] for name in sorted(each)]) for each in rates(run)]
    return single(label, of, values, unit)


def swept(
    runs: Runs, names: Mapping[float, str], variable: str, measure: Callable[[Result], Quantity]
) -> Quantity:
    """A quantity measured in each of these runs, by the value of the variable."""
    return side_by_side({at: measure(runs[name]) for at, name in names.items()}, variable)


def computed(label: str, of: str, values: Mapping[float, float], variable: str) -> Quantity:
    """A quantity computed by a map or formula at each value of a variable."""
    return Quantity(
        label, of, np.array([list(values.values())]), "", variable, tuple(float(v) for v in values)
    )


def ratio(quantity: Quantity, expected: Sequence[float], label: str) -> Quantity:
    """A quantity divided by expected values."""
    return replace(quantity, label=label, values=quantity.values / np.asarray(expected), unit="")


def fairness(rates: Sequence[float]) -> float:
    """Smallest rate / largest rate."""
    return min(rates) / max(rates)


def overshoot(rate: Floats, settled: float) -> float:
    """Largest excess of a rate over ``settled``, relative to it."""
    return max(0.0, float(rate.max()) / settled - 1)


def largest_distance(rate: Floats, settled: float) -> float:
    """Largest distance of a rate from ``settled``, relative to it."""
    return float(np.abs(rate / settled - 1).max())


def map_figure(
    name: str,
    caption: str,
    curves: Mapping[str, Mapping[str, Floats]],
    *,
    shared: bool = True,
) -> PaperFigure:
    """Rates of maps by step, Mbit/s: one titled panel per entry, with named curves."""
    figure, axes = panels(len(curves), height=1.4 if len(curves) > 2 else 2.0, shared=shared)
    rows = []
    for (title, named), panel in zip(curves.items(), axes, strict=True):
        shown = {of: thin(np.arange(len(y), dtype=float), y) for of, y in named.items()}
        line_plot(shown, "Step", "Rate", "Mbit/s", axes=panel)
        panel.set_title(title, fontsize=9, loc="right", pad=2)
        if shared:
            panel.label_outer()
        rows += [
            {"panel": title, "of": of, "step": i, "rate": v}
            for of, y in named.items()
            for i, v in enumerate(y)
        ]
    return PaperFigure(name, caption, figure, pa.Table.from_pylist(rows))


def sender_figure(name: str, caption: str, runs: Mapping[str, Result]) -> PaperFigure:
    """Sending rates over time in the first replication: one titled panel per run."""
    figure, axes = panels(len(runs), height=2.0 if len(runs) < 3 else 1.6)
    parts = []
    for (title, run), panel in zip(runs.items(), axes, strict=True):
        Plots(run).rates(axes=panel)
        panel.set_title(title, fontsize=9, loc="right", pad=2)
        panel.label_outer()
        table = run.to_arrow("paced")
        parts.append(table.append_column("of", pa.array([title] * len(table))))
    return PaperFigure(name, f"{caption} The first replication.", figure, pa.concat_tables(parts))


def total_rate(trajectory: Trajectory) -> Floats:
    """The sum of all rates of a map, Mbit/s."""
    return trajectory.total * 1e-6
