"""The report of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from marqueue.plots.side_by_side import side_by_side
from marqueue.reports.builder import Cell, Report
from marqueue.results.comparison import Comparison, Difference

EXCLUDES_ZERO = {True: "yes", False: "no", None: None}


def comparison_report(comparison: Comparison) -> Report:
    """The report: settings that differ, then a table for each link and each group of flows."""
    a, b = comparison.a, comparison.b
    page = Report(f"{a.name} and {b.name}", comparison.method, "A and B, with B − A")
    page.notes(comparison.remarks())
    page.section("What differs")
    if comparison.settings:
        rows: list[list[Cell]] = [[s.path, s.a, s.b] for s in comparison.settings]
        page.table(["Setting", "A", "B"], rows)
    else:
        page.text("No setting differs.")
    in_b = set(b.links)
    links = [link for link in a.links if link in in_b]
    by_link = comparison.by_link()
    if links:
        page.section("Links")
    for link in links:
        if link in by_link:
            _table(page, by_link[link], f"Link {link}, over the measured time.")
        page.figure(
            side_by_side(("A", a), ("B", b), link),
            f"Link {link}: the queue (line: first replication, band: range of all) and the "
            "distribution of the queueing delay over the measured time.",
        )
    flows = {of: each for of, each in comparison.by_subject().items() if of.kind != "link"}
    if flows:
        page.section("Flows")
    for subject, differences in flows.items():
        _table(page, differences, f"Flows: {subject}, over the measured time.")
    return page


def _table(page: Report, differences: Sequence[Difference], caption: str) -> None:
    rows: list[list[Cell]] = [
        [each.figure.title, *each.in_unit(), EXCLUDES_ZERO[each.excludes_zero]]
        for each in differences
    ]
    page.table(["", "A", "B", "B − A", "Excludes zero"], rows, caption)
