"""The figures of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.bars import bars
from marqueue.plots.cdf import cdf
from marqueue.plots.histogram import queue_histogram
from marqueue.plots.step_plot import step_plot
from marqueue.plots.timeseries import Curve, timeseries
from marqueue.results.flows import Flows
from marqueue.results.quantities import SERIES_LABELS, series_label, shown_unit
from marqueue.results.rows import rows_where
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.statistics.histograms import merge_times

if TYPE_CHECKING:
    from marqueue.results import Result


#: The panels of a sender: quantity, unit, and columns with their labels.
SENDER = (
    ("Window", "packets", {"cwnd": "cwnd", "ssthresh": "ssthresh"}),
    ("Time", "s", {"rtt": "latest RTT", "srtt": "smoothed RTT", "rto": "timeout"}),
)


#: The largest number of curves in a figure.
MOST_CURVES = 12


def _flow_names(result: Result, replication: int) -> dict[int, str]:
    """The labels of flows: the group, and the number if the group has several flows."""
    flows = rows_where(result.flows, "replication", replication)
    groups = dict(zip(flows["flow"].to_pylist(), flows["group"].to_pylist(), strict=True))
    flows_of = Counter(groups.values())
    return {
        flow: f"{group} ({flow})" if flows_of[group] > 1 else group
        for flow, group in groups.items()
    }


class Plots:
    """The figures of one result. ``link`` may be omitted if there is only one."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def queue(self, link: str | None = None) -> Figure:
        """The queue over time, packets."""
        return self.series("queue", link)

    def series(self, name: str, link: str | None = None, *, axes: Axes | None = None) -> Figure:
        """A time series of a link by its name: of the queue or a probe of the AQM."""
        result = self._result
        of = result.link(link)
        t, values = of.series(name)
        unit, scale = shown_unit(of.units[name])
        return timeseries(
            [Curve(t, values * scale)],
            series_label(name),
            unit,
            warmup=result.warmup,
            cuts=[result.edges[w] for w in result.measured[1:]],
            floor=0.0 if name in SERIES_LABELS else None,
            axes=axes,
        )

    def load(self, link: str | None = None) -> Figure:
        """Utilization, drops and marks of each sample, one panel each; zero series are left out."""
        of = self._result.link(link)
        names = [n for n in ("utilization", "drops", "marks") if of.series(n)[1].any()]
        figure, axes = style.panels(max(1, len(names)), height=1.5)
        for panel, name in zip(axes, names, strict=False):
            self.series(name, link, axes=panel)
            panel.label_outer()
        return figure

    def queue_distribution(self, link: str | None = None) -> Figure:
        """Share of time at each queue length over all replications, one curve per window."""
        result = self._result
        windows: list[int | None] = list(result.measured) if len(result.measured) > 1 else [None]
        curves = {}
        for w in windows:
            begin, end = result.span(w)
            parts = result.link(link).windows(w)
            curves[f"{begin:g} to {end:g} s"] = merge_times([p.queue for p in parts])
        return queue_histogram(curves)

    def completion_times(self) -> Figure:
        """Distribution of the completion times of finite flows over all replications."""
        samples = self._by_class(lambda flows: flows.completion_times)
        return cdf(samples, "Flow completion time", "s", log=True)

    def goodputs(self) -> Figure:
        """Distribution of the goodputs of unlimited flows over all replications."""
        samples = self._by_class(lambda flows: flows.long_rates / 1e6)
        return cdf(samples, "Goodput of a long flow", "Mbit/s")

    def _by_class(self, of: Callable[[Flows], Floats]) -> dict[str, Floats]:
        """Values of flows over all replications, by class; not by class if there are too many."""
        result = self._result
        if len(result.classes) > MOST_CURVES:
            return {"all classes": np.concatenate([of(each) for each in result.flow_sets()])}
        return {
            c: np.concatenate([of(each) for each in result.flow_sets(class_=c)])
            for c in result.classes
        }

    def sender(self, flow: int, replication: int = 0) -> Figure:
        """The sender of a traced flow: cwnd and ssthresh, round-trip times and timeout.

        Raises KeyError if the flow was not traced.
        """
        table = self._result.to_arrow("tcp")
        for column, wanted in (("flow", flow), ("replication", replication)):
            table = rows_where(table, column, wanted)
        if not table.num_rows:
            raise KeyError(f"flow {flow} in replication {replication}, expected a traced one")
        shown = {name: table[name].to_numpy() for name in table.column_names}
        figure, panels = style.panels(2, height=1.7)
        for panel, (quantity, unit, curves) in zip(panels, SENDER, strict=True):
            step_plot(
                [Curve(shown["t"], shown[name], label) for name, label in curves.items()],
                quantity,
                unit,
                end=float(self._result.edges[-1]),
                warmup=self._result.warmup,
                axes=panel,
            )
            panel.label_outer()
        return figure

    def rates(self, replication: int = 0, *, axes: Axes | None = None) -> Figure:
        """The sending rates of the traced paced flows over time.

        Raises KeyError if none was traced.
        """
        result = self._result
        table = result.to_arrow("paced")
        table = rows_where(table, "replication", replication)
        shown = {name: table[name].to_numpy() for name in table.column_names}
        flows = np.unique(shown["flow"])[:MOST_CURVES]
        names = _flow_names(result, replication)
        curves = [
            Curve(shown["t"][here], shown["rate"][here] / 1e6, names[flow])
            for flow in flows
            for here in [shown["flow"] == flow]
        ]
        end, warmup = float(result.ends[replication]), result.warmup
        return step_plot(curves, "Rate", "Mbit/s", end=end, warmup=warmup, above=0.0, axes=axes)

    def shares(self) -> Figure:
        """Shares of the capacity of CPUs and links by group of traffic over the measured time;
        empty without a CPU."""
        result = self._result
        shares = {name: result.link(name).shares() for name in result.links}
        groups = list(next(iter(shares.values()), {}))
        series = {name: [each[g]["share"] for g in groups] for name, each in shares.items()}
        return bars(groups, series, "Share of the capacity")

    def windows(self, figure: str, quantity: str, unit: str = "", scale: float = 1.0) -> Figure:
        """A figure of every link in every measured window."""
        result = self._result
        spans = [result.span(w) for w in result.measured]
        series: dict[str, list[Estimate]] = {
            name: [result.link(name).figures(w)[figure].scaled(scale) for w in result.measured]
            for name in result.links
        }
        return bars([f"{b:g} to {e:g} s" for b, e in spans], series, quantity, unit)
