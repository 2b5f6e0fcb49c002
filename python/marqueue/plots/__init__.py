"""Figures, one module per kind. Each function takes arrays or estimates, draws on given axes or a
new figure, and returns the matplotlib figure.
"""

from marqueue.extras import require

# Before the imports of matplotlib, to give a helpful message.
require("plots", "A figure")

from marqueue.plots.bars import bars
from marqueue.plots.cdf import cdf
from marqueue.plots.histogram import queue_histogram
from marqueue.plots.line_plot import line_plot
from marqueue.plots.result_plots import Plots
from marqueue.plots.style import inline_svg, panels, svg
from marqueue.plots.sweep import sweep
from marqueue.plots.timeseries import Curve, timeseries

__all__ = [
    "Curve",
    "Plots",
    "bars",
    "cdf",
    "inline_svg",
    "line_plot",
    "panels",
    "queue_histogram",
    "svg",
    "sweep",
    "timeseries",
]
