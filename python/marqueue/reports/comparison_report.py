"""The report of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from marqueue.reports.builder import Cell, Report
from marqueue.reports.chart import Chart, ChartCurve, Choice
from marqueue.reports.curves import replication_choice
from marqueue.reports.run_charts import MOST_LINKS_DRAWN, run_charts, time_marks
from marqueue.results.comparison import Comparison, Difference
from marqueue.results.congested_links import congested_links

EXCLUDES_ZERO = {True: "yes", False: "no", None: None}
#: The tag of a curve that says of which result it is.
RESULT = "result"
#: Figures in the first lines of the page.
HIGHLIGHTS = ("utilization", "loss_ratio", "delay_mean", "delay_p99", "jain")


def comparison_report(comparison: Comparison, places: Sequence[str] = ()) -> Report:
    """The report: the answer, the settings that differ, both results in each picture, and a table
    for each link and each group of flows.

    ``places`` are the directories of A and B, where the results are files.
    """
    a, b = comparison.a, comparison.b
    page = Report(
        " and ".join(places or dict.fromkeys([a.name, b.name])),
        comparison.method,
        ". ".join([*_which(comparison, places), "B − A is the difference."]),
    )
    page.answer(_answer(comparison))
    page.highlights(_highlights(comparison))
    page.notes(comparison.remarks())
    page.section("What differs")
    if comparison.settings:
        rows: list[list[Cell]] = [[s.path, s.a, s.b] for s in comparison.settings]
        page.table(["Setting", "A", "B"], rows)
    else:
        page.text("No setting differs.")
    charts, choices = comparison_charts(comparison)
    if charts:
        caption = "The bands are 95% intervals over replications."
        page.section("Pictures").charts(charts, choices, f"{caption} {time_marks(a)}".rstrip())
    links = {of: each for of, each in comparison.by_subject().items() if of.kind == "link"}
    if links:
        page.section("Links", folded=True)
    for subject, differences in links.items():
        _table(page, differences, f"Link {subject.name}, over the measured time.")
    flows = {of: each for of, each in comparison.by_subject().items() if of.kind != "link"}
    if flows:
        page.section("Flows", folded=True)
    for subject, differences in flows.items():
        _table(page, differences, f"Flows: {subject}, over the measured time.")
    return page


def comparison_charts(comparison: Comparison) -> tuple[list[Chart], list[Choice]]:
    """Charts with the curves of both results, and what a reader chooses among."""
    return list(_charts(comparison)), _choices(comparison)


def _which(comparison: Comparison, places: Sequence[str]) -> Iterator[str]:
    """Of each result which one it is."""
    names = (comparison.a.name, comparison.b.name)
    for letter, name, place in zip("AB", names, places or ("", ""), strict=True):
        yield f"{letter}: {place} ({name})" if place else f"{letter}: {name}"


def _first(comparison: Comparison) -> list[Difference]:
    """The differences that matter: of the link that B uses most, and of all flows."""
    by_subject = comparison.by_subject()
    links = [of for of in by_subject if of.kind == "link"]

    def used(differences: Sequence[Difference]) -> float:
        return max((d.b.mean for d in differences if d.figure.name == "utilization"), default=-1.0)

    chosen = [max(links, key=lambda of: used(by_subject[of]))] if links else []
    chosen += [of for of in by_subject if of.kind != "link" and not of.name]
    return [each for of in chosen for each in by_subject[of] if each.figure.name in HIGHLIGHTS]


def _highlights(comparison: Comparison) -> list[tuple[str, Cell, str]]:
    several = len(comparison.by_link()) > 1
    return [
        (f"{_labelled(each, several)}, B − A", each.in_unit()[2], each.figure.unit)
        for each in _first(comparison)
    ]


def _labelled(each: Difference, several: bool) -> str:
    """The label of a figure, with its link if there are several."""
    of = f"{each.subject.name}: " if several and each.subject.kind == "link" else ""
    return f"{of}{each.figure.label}"


def _answer(comparison: Comparison) -> str:
    """Which of the figures that matter differ, in one sentence."""
    first = _first(comparison)
    if all(each.excludes_zero is None for each in first):
        return "Without intervals, a difference cannot be told from chance."
    differing = [each for each in first if each.excludes_zero]
    if not differing:
        return "No figure that matters differs by more than its 95% interval."
    parts = []
    for each in differing:
        a, b, _ = each.in_unit()
        unit = f" {each.figure.unit}" if each.figure.unit else ""
        parts.append(f"a {each.figure.phrase} of {b.mean:.4g}{unit} instead of {a.mean:.4g}{unit}")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"B{_with(comparison)} has {listed}; these differences exclude zero at 95%."


def _with(comparison: Comparison) -> str:
    """The first setting that differs, as part of a sentence; empty without one."""
    if not comparison.settings:
        return ""
    first, *others = comparison.settings
    also = f" and {len(others)} more changes" if len(others) > 1 else ""
    also = " and another change" if len(others) == 1 else also
    return f", with {first.path} {first.b} instead of {first.a}{also},"


def _drawn(comparison: Comparison) -> list[str]:
    """The links of which both results have curves."""
    of_a, of_b = (congested_links(each, MOST_LINKS_DRAWN) for each in (comparison.a, comparison.b))
    in_b = set(of_b)
    return [name for name in of_a if name in in_b]


def _choices(comparison: Comparison) -> list[Choice]:
    links = _drawn(comparison)
    most = max(comparison.a.replications, comparison.b.replications)
    replications = replication_choice(most)
    return [
        Choice(RESULT, "Results", ["A", "B"], ["A", "B"]),
        Choice("link", "Links", links, links[:1]),
        # At first one curve for each result.
        replace(replications, shown=replications.values[:1]),
    ]


def _charts(comparison: Comparison) -> Iterator[Chart]:
    """The charts that both results have, each with the curves of both, of the links of both."""
    both = set(_drawn(comparison))
    of_a, of_b = (
        {(each.title, each.y_label): each for each in run_charts(result)}
        for result in (comparison.a, comparison.b)
    )
    for key, a in of_a.items():
        b = of_b.get(key)
        if b is None or a.x_names or any("flow" in each.tags for each in a.curves):
            continue
        curves = [
            replace(curve, tags={RESULT: name, **curve.tags})
            for name, chart in (("A", a), ("B", b))
            for curve in chart.curves
            if curve.tags.get("link", "") in {"", *both}
        ]
        curves = _in_common(curves, comparison)
        if curves:
            warmup = max(a.shade_until, b.shade_until)
            until = max(a.until, b.until) if a.until and b.until else None
            yield replace(a, curves=curves, shade_until=warmup, until=until)


def _in_common(curves: Sequence[ChartCurve], comparison: Comparison) -> list[ChartCurve]:
    """A result of one replication has no mean: its only curve stands for it."""
    alone = {
        name
        for name, result in (("A", comparison.a), ("B", comparison.b))
        if result.replications == 1
    }
    if len(alone) != 1:
        return list(curves)
    [mean, *_] = replication_choice(2).values
    return [
        replace(each, tags={**each.tags, "replication": mean})
        if each.tags[RESULT] in alone and "replication" in each.tags
        else each
        for each in curves
    ]


def _table(page: Report, differences: Sequence[Difference], caption: str) -> None:
    rows: list[list[Cell]] = [
        [each.figure.title, *each.in_unit(), EXCLUDES_ZERO[each.excludes_zero]]
        for each in differences
    ]
    page.table(["", "A", "B", "B − A", "Excludes zero"], rows, caption)
