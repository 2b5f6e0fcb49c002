"""The pictures and the tables of docs/coexistence.md, from its data."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm, TwoSlopeNorm
from matplotlib.figure import Figure

from benches.coexistence import bursts, matrix, store
from benches.coexistence.setups import AQMS, SENDERS, named
from benches.record import insert, table
from marqueue.plots import svg
from marqueue.plots.style import COLORS, INK, themed
from marqueue.statistics.estimates import Estimate

PAGE = Path("docs/coexistence.md")
HERE = PAGE.with_suffix("")
MATRIX_KEYS = {"aqm": str, "first": str, "second": str, "rtt_ms": int}
BURST_KEYS = {"aqm": str, "bursts": str, "size_packets": int, "load": float, "rtt_ms": int}
MIXED = tuple(combinations(SENDERS, 2))
TABLED = (20, 80)
"""Round-trip times of the tables, ms."""


def draw_all() -> None:
    """Writes the pictures, and the tables into the page."""
    cells = store.read(HERE / "matrix.csv", MATRIX_KEYS, matrix.REPLICATIONS)
    for name, figure in (
        ("shares", draw_shares(cells)),
        ("delays", draw_delays(cells)),
        ("bursts", draw_bursts(
            store.read(HERE / "bursts.csv", BURST_KEYS, bursts.REPLICATIONS))),
    ):  # fmt: skip
        (HERE / f"{name}.svg").write_text(svg(figure), encoding="utf-8")
    for rtt in TABLED:
        insert(PAGE, f"shares {rtt} ms", share_table(cells, rtt))


def share_table(cells: store.Rows, rtt: int) -> str:
    """Shares at one round-trip time, a row a pair and a column an AQM."""

    def cell(share: Estimate) -> str:
        assert share.half_width is not None, "there are several replications"
        return f"{share.mean:.2f} ± {share.half_width:.2f}"

    return table(
        ["share of the first", *AQMS],
        [
            [f"{named(one)}, {named(two)}",
             *(cell(cells[aqm, one, two, rtt]["share"]) for aqm in AQMS)]
            for one, two in MIXED
        ],
    )  # fmt: skip


def draw_shares(cells: store.Rows) -> Figure:
    """Share of the first of each pair over the round-trip time: a row a pair, a column an AQM."""
    with themed():
        figure = Figure(figsize=(8.4, 9.6), layout="constrained")
        grid = figure.subplots(len(MIXED), len(AQMS), sharex=True, sharey=True)
        for row, (first, second) in zip(grid, MIXED, strict=True):
            for axis, aqm in zip(row, AQMS, strict=True):
                shares = [cells[aqm, first, second, rtt]["share"] for rtt in matrix.RTTS]
                means = [each.mean for each in shares]
                error = [each.half_width for each in shares]
                axis.axhline(0.5, color=INK, linewidth=0.7, linestyle=(0, (2, 2)), alpha=0.6)
                axis.fill_between(matrix.RTTS, 0, means, color=COLORS[0], alpha=0.16, linewidth=0)
                axis.fill_between(matrix.RTTS, means, 1, color=COLORS[1], alpha=0.16, linewidth=0)
                axis.errorbar(matrix.RTTS, means, error, fmt="o-", color=COLORS[0], markersize=2.5,
                              linewidth=1, capsize=1.5, elinewidth=0.8)  # fmt: skip
            row[0].set_ylabel(f"{named(first)}\nbeside\n{named(second)}", rotation=0, ha="right",
                              va="center", labelpad=12)  # fmt: skip
        for axis, aqm in zip(grid[0], AQMS, strict=True):
            axis.set_title(aqm, fontsize=9)
        corner = grid[0][0]
        corner.set_ylim(0, 1)
        corner.set_yticks([0, 0.5, 1], ["0", "½", "1"])
        corner.set_xscale("log")
        corner.set_xticks([10, 40, 160], ["10", "40", "160"])
        corner.minorticks_off()
        figure.supxlabel("Round-trip time without queues [ms]", fontsize=9)
    return figure


def draw_delays(cells: store.Rows) -> Figure:
    """p99 of the queueing delay: a row a pair, a column an AQM and a round-trip time."""
    columns = [(aqm, rtt) for aqm in AQMS for rtt in matrix.RTTS]
    values = [
        [cells[aqm, *pair, rtt]["delay_p99"].mean * 1e3 for aqm, rtt in columns]
        for pair in matrix.PAIRS
    ]
    with themed():
        figure = Figure(figsize=(8.4, 4.6), layout="constrained")
        axis = figure.subplots()
        image = axis.imshow(values, norm=LogNorm(1, 250), cmap="viridis", aspect="auto")
        axis.set_yticks(
            range(len(matrix.PAIRS)), [f"{named(one)}, {named(two)}" for one, two in matrix.PAIRS]
        )
        width = len(matrix.RTTS)
        axis.set_xticks(range(len(columns)), [str(rtt) for _, rtt in columns], fontsize=6)
        for i, aqm in enumerate(AQMS):
            axis.text((i + 0.5) * width - 0.5, -0.8, aqm, ha="center")
            if i:
                axis.axvline(i * width - 0.5, color="white", linewidth=2)
        axis.grid(visible=False)
        axis.set_xlabel("Round-trip time without queues [ms]")
        bar = figure.colorbar(image, ax=axis, label="p99 of the queueing delay [ms]")
        ticks = [1, 2, 5, 10, 20, 50, 100, 200]
        bar.set_ticks(ticks, labels=[str(each) for each in ticks])
        bar.minorticks_off()
    return figure


def draw_bursts(cells: store.Rows) -> Figure:
    """Two maps for each AQM and each kind of transfers, with intervals in the cells."""
    sizes = [(size, load) for size in bursts.SIZES for load in bursts.LOADS]
    kinds = [(aqm, law) for aqm in bursts.AQMS for law in bursts.LAWS]
    other = dict(zip(bursts.LAWS, bursts.LAWS[::-1], strict=True))
    figures = (
        ("slowdown", "Completion time of the transfers"),
        ("long", "Goodput of the long flow"),
    )
    with themed():
        figure = Figure(figsize=(8.4, 10.4), layout="constrained")
        grid = figure.subplots(len(kinds), len(figures), sharex=True, sharey=True)
        for row, (aqm, law) in zip(grid, kinds, strict=True):
            for axis, (name, label) in zip(row, figures, strict=True):
                found = [[cells[aqm, law, *of, rtt][name] for rtt in bursts.RTTS] for of in sizes]
                draw_map(axis, found, worse_if_high=name == "slowdown")
                axis.set_title(
                    f"{aqm}: {named(law)} beside a long {named(other[law])}\n{label}", fontsize=8.5
                )
        grid[0][0].set_xticks(range(len(bursts.RTTS)), [str(rtt) for rtt in bursts.RTTS])
        grid[0][0].set_yticks(
            range(len(sizes)), [f"{size} packets, {load:.0%}" for size, load in sizes]
        )
        figure.supxlabel("Round-trip time without queues [ms]", fontsize=9)
    return figure


def draw_map(axis: Any, found: list[list[Estimate]], *, worse_if_high: bool) -> None:
    """Ratios as colours, blue where mixing helps and orange where it hurts, with intervals."""
    logs = np.log2([[each.mean for each in row] for row in found])
    axis.imshow(
        logs,
        cmap="PuOr_r" if worse_if_high else "PuOr",
        norm=TwoSlopeNorm(0, -2, 2),
        aspect="auto",
    )
    for y, row in enumerate(found):
        for x, each in enumerate(row):
            assert each.half_width is not None, "there are several replications"
            axis.text(x, y, f"{each.mean:.2f} ± {each.half_width:.2f}", ha="center", va="center",
                      fontsize=7, color="white" if abs(logs[y, x]) > 1.4 else INK)  # fmt: skip
    axis.grid(visible=False)
