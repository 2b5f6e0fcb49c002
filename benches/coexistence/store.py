"""Estimates by keys, as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue.statistics.estimates import Estimate

Rows = dict[tuple[Any, ...], dict[str, Estimate]]


def write(
    place: Path,
    keys: Sequence[str],
    cells: Iterable[tuple[tuple[Any, ...], Mapping[str, Estimate]]],
) -> None:
    """A line a cell: its keys, then mean and half width of the 95% interval of each figure, in
    base units. The file is in place once it is whole.
    """
    part = place.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        for number, (key, figures) in enumerate(cells):
            if number == 0:
                columns = (f"{name}{end}" for name in figures for end in ("", "_half_width"))
                lines.writerow([*keys, *columns])
            values = (x for each in figures.values() for x in (each.mean, each.half_width))
            lines.writerow([*key, *(f"{x:.5g}" for x in values)])
            file.flush()
    part.replace(place)


def read(place: Path, keys: Mapping[str, type], replications: int) -> Rows:
    """What :func:`write` wrote. ``keys`` has the type of each key."""
    rows: Rows = {}
    with place.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            figures = [name for name in line if f"{name}_half_width" in line]
            rows[tuple(of(line[key]) for key, of in keys.items())] = {
                name: Estimate(float(line[name]), float(line[f"{name}_half_width"]), replications)
                for name in figures
            }
    return rows
