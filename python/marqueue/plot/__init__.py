"""Figures, one module a kind. Each function takes arrays or estimates, draws on the axes given or
on a new figure, and returns the matplotlib figure.
"""

from marqueue.plot.bars import bars
from marqueue.plot.cdf import cdf
from marqueue.plot.histogram import queue_histogram
from marqueue.plot.lines import lines
from marqueue.plot.of_result import Plots
from marqueue.plot.style import inline_svg, panels, svg
from marqueue.plot.sweep import sweep
from marqueue.plot.timeseries import Curve, timeseries

__all__ = [
    "Curve",
    "Plots",
    "bars",
    "cdf",
    "inline_svg",
    "lines",
    "panels",
    "queue_histogram",
    "svg",
    "sweep",
    "timeseries",
]
