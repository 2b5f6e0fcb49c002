"""A stability map as a figure and as CSV."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from marqueue.plots.style import INK, panels, svg, themed
from marqueue.results.output_file import write_output_file

if TYPE_CHECKING:
    from marqueue.design.stability_map import StabilityMap

#: Inches.
HEIGHT = 4.2


def draw(found: StabilityMap, title: str) -> Figure:
    """The map as a heat map of the damping; above zero the system is stable."""
    plane = found.plane
    figure, [axes] = panels(height=HEIGHT)
    with themed():
        x, y = plane.x.values, plane.y.values
        mesh = axes.pcolormesh(
            x, y, found.damping, cmap="RdBu", vmin=-1, vmax=1, shading="nearest", rasterized=True
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        for ticks in (axes.xaxis, axes.yaxis):
            ticks.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ticks.set_major_formatter("{x:g}")
            ticks.set_minor_formatter(NullFormatter())
        known = np.where(np.isnan(found.damping), 1.0, found.damping)
        marks = []
        if known.min() < 0 < known.max():
            axes.contour(x, y, np.ma.masked_invalid(found.damping), [0.0], colors=INK)
            marks.append(axes.plot([], [], color=INK, label="exact boundary")[0])
        if found.guaranteed.any() and not found.guaranteed.all():
            share = found.guaranteed.astype(float)
            axes.contour(x, y, share, [0.5], colors="#E69F00", linestyles="--")
            line = axes.plot([], [], color="#E69F00", linestyle="--", label="guaranteed within")
            marks.append(line[0])
        here = axes.plot(plane.x.here, plane.y.here, "o", color="#000000", label="designed for")
        if np.isnan(found.damping).any():
            axes.set_facecolor("#d8d8d8")
            line = axes.plot([], [], "s", color="#d8d8d8", label="no equilibrium")
            marks.append(line[0])
        axes.set_xlabel(plane.x.label)
        axes.set_ylabel(plane.y.label)
        axes.set_title(title, loc="left", fontsize="medium", pad=36)
        figure.colorbar(mesh, ax=axes, label="Damping of the rightmost root")
        axes.legend(
            handles=[*marks, here[0]],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            borderpad=0.2,
        )
        axes.grid(visible=False)
    return figure


def save(found: StabilityMap, title: str, file: Path) -> Path:
    """Writes the figure, and its data beside it as CSV. Returns the path of the data.

    Raises :class:`RunError` if they cannot be written.
    """
    data = file.with_suffix(".csv")
    write_output_file(data, _csv(found))
    write_output_file(file, svg(draw(found, title)))
    return data


def _csv(found: StabilityMap) -> str:
    """The data of a map: a line for each point of the plane."""
    plane, out = found.plane, io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([plane.x.label, plane.y.label, "damping", "guaranteed"])
    for j, y in enumerate(plane.y.values):
        for i, x in enumerate(plane.x.values):
            value = found.damping[j, i]
            damping = "" if math.isnan(value) else f"{value:.6g}"
            rows.writerow([f"{x:.6g}", f"{y:.6g}", damping, int(found.guaranteed[j, i])])
    return out.getvalue()
