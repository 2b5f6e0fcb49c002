"""Figures as files: SVG, PNG or PDF, by the ending of the file's name."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from marqueue.plots.style import svg
from marqueue.results.output_file import write_output_file

DOTS_PER_INCH = 150
"""Resolution of PNG files."""


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a figure in the format that the name ends in: .svg, .png or .pdf.

    Raises RunError if the file cannot be written.
    """
    if path.suffix == ".svg":
        write_output_file(path, svg(figure))
        return
    image = io.BytesIO()
    figure.savefig(
        image, format=path.suffix.removeprefix("."), dpi=DOTS_PER_INCH, facecolor="white"
    )
    write_output_file(path, image.getvalue())
