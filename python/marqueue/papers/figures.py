"""Figures and tables of a paper, made from quantities and runs, with their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from matplotlib.figure import Figure

from marqueue.papers.quantity import Quantity
from marqueue.plots import Curve, cdf, panels, svg, sweep, timeseries
from marqueue.reports.builder import Cell
from marqueue.statistics.estimates import Estimate, Floats

#: Caption for time series of several replications.
BAND = "Line: the first replication; band: the range of all."
#: Caption for estimates.
BARS = "Bars: 95% intervals; where there is none to be seen it is narrower than the mark."


@dataclass(frozen=True)
class PaperFigure:
    """A figure with its data."""

    name: str
    """Name in the paper, such as ``Figure 6``; or our own, such as ``Model 1``."""
    caption: str
    figure: Figure
    data: pa.Table

    @cached_property
    def svg(self) -> str:
        """The picture. It is in a file of its own and in the report, and is slow to make."""
        return svg(self.figure)


@dataclass(frozen=True)
class PaperTable:
    """A table."""

    name: str
    """Name in the paper, such as ``Table I``."""
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def data(self) -> pa.Table:
        """The table for other programs: an estimate takes two columns, mean and half width."""
        return pa.Table.from_pylist(
            [
                {
                    name: value
                    for head, cell in zip(self.columns, row, strict=True)
                    for name, value in _plain(head, cell)
                }
                for row in self.rows
            ]
        )


def _plain(head: str, cell: Cell) -> list[tuple[str, Cell]]:
    if isinstance(cell, Estimate):
        return [(head, cell.mean), (f"{head}, half width", cell.half_width)]
    return [(head, cell)]


def sweep_figure(
    name: str,
    caption: str,
    quantities: Sequence[Quantity],
    variable: str,
    model: Sequence[Quantity] = (),
    *,
    log_x: bool = False,
    floor: float | None = None,
) -> PaperFigure:
    """Estimates of one quantity over the swept variable, one curve per scheme.

    If ``model`` has a quantity of the same scheme, estimates are marks and the model is a line, at
    places of its own. The vertical axis begins at ``floor``, if given.
    """
    first = quantities[0]
    # Another simulator may not have run at all places.
    none = Estimate.of([])
    schemes = {
        quantity.of: [
            dict(zip(quantity.places, quantity.estimates, strict=True)).get(place, none)
            for place in first.places
        ]
        for quantity in quantities
    }
    lines = {quantity.of: (quantity.places, list(quantity.values[0])) for quantity in model}
    figure = sweep(
        first.places,
        schemes,
        variable,
        first.label,
        first.unit,
        model=lines,
        log_x=log_x,
        floor=floor,
    )
    rows = [
        {"of": of, variable: place, **estimate.as_dict()}
        for of, q in [(q.of, q) for q in quantities] + [(f"{q.of}, model", q) for q in model]
        for place, estimate in zip(q.places, q.estimates, strict=True)
    ]
    return PaperFigure(name, f"{caption} {BARS}", figure, pa.Table.from_pylist(rows))


def over_time(
    name: str,
    caption: str,
    curve: Curve,
    quantity: str,
    unit: str = "",
    changes: Sequence[float] = (),
) -> PaperFigure:
    """One curve over time; dotted lines mark changes of the load."""
    figure = timeseries([curve], quantity, unit, cuts=changes, floor=0.0)
    return PaperFigure(name, f"{caption} {BAND}", figure, _series([curve]))


def stacked_panels(
    name: str,
    caption: str,
    curves: Mapping[str, Curve],
    quantity: str,
    unit: str = "",
    changes: Sequence[float] = (),
    limits: tuple[float, float] | None = None,
) -> PaperFigure:
    """Curves over time in panels with a common scale; keys are the titles."""
    figure, axes = panels(len(curves), height=1.6)
    top = max(float(curve.values.max()) for curve in curves.values())
    for panel, (title, curve) in zip(axes, curves.items(), strict=True):
        timeseries([curve], quantity, unit, cuts=changes, floor=0.0, axes=panel)
        panel.set_ylim(limits or (0, 1.05 * top))
        panel.set_title(title, fontsize=9, loc="right", pad=2)
        panel.label_outer()
    named = [Curve(c.t, c.values, title) for title, c in curves.items()]
    return PaperFigure(name, f"{caption} {BAND}", figure, _series(named))


def _series(curves: Sequence[Curve]) -> pa.Table:
    parts = [
        {"of": [c.name] * len(c.t), "replication": [r] * len(c.t), "t": c.t, "value": values}
        for c in curves
        for r, values in enumerate(c.values)
    ]
    return pa.concat_tables([pa.table(part) for part in parts])


def distribution_figure(
    name: str,
    caption: str,
    samples: Mapping[str, Floats],
    quantity: str,
    unit: str = "",
    *,
    log: bool = False,
) -> PaperFigure:
    """The cumulative distribution over flows, one curve per scheme."""
    rows = pa.concat_tables(
        pa.table({"of": [of] * len(values), "value": values}) for of, values in samples.items()
    )
    return PaperFigure(name, caption, cdf(samples, quantity, unit, log=log), rows)
