"""Charts of a report as data. The page's script draws them; the sources are in web/src/report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from marqueue.statistics.estimates import Floats

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class ChartCurve:
    """One curve, or one set of points. Values that are not finite are gaps."""

    x: Floats
    y: Floats
    name: str = ""
    """What it is, where a chart has several quantities."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Of which link, flow, replication or result it is; the reader chooses by these."""
    band: tuple[Floats, Floats] | None = None
    """The lower and the upper end of an interval at each ``x``."""
    ghost: bool = False
    """Drawn faint and dashed, such as a model beside a simulation."""


@dataclass(frozen=True)
class Chart:
    """A chart with its axes."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[ChartCurve]
    kind: Literal["line", "step", "scatter"] = "line"
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    over_time: bool = False
    """The horizontal axis is simulated time: linked with the other charts over time."""
    floor: float | None = None
    """The lower end of the vertical axis, unless a value is below it."""
    until: float | None = None
    """The end of the run, where charts over time end together."""
    shade_until: float = 0.0
    """The end of the warm-up, which is grey."""
    cuts: Sequence[float] = ()
    """Boundaries of measuring windows."""
    x_names: Sequence[str] = ()
    """Names of x = 0, 1, 2, ... if the axis has no numbers."""
    name: str = ""
    """What ``marqueue plot --figure`` calls it; empty where it cannot be asked for."""


@dataclass(frozen=True)
class Choice:
    """A tag by which a reader chooses what charts show."""

    tag: str
    label: str
    values: Sequence[str]
    shown: Sequence[str]
    """The values that are chosen at first."""
