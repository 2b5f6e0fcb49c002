"""Which charts of a result a figure for print shows, and which of their curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from marqueue.errors import MarqueueError, show, unknown
from marqueue.reports.chart import Chart, ChartCurve
from marqueue.reports.curves import MEAN, named

OVERVIEW = "overview"
"""The figure with the panels of :data:`PANELS`."""
PANELS = ("rate", "utilization", "queue", "delay_p50", "delay_p99", "drops", "marks")
"""The quantities of a link over time, of those that there are; a rate says more than the
utilization."""


def chosen_charts(
    charts: Iterable[Chart], figure: str, source: object, maps: Iterable[str] = ()
) -> list[Chart]:
    """The charts of a figure by its name. Raises MarqueueError with the names that ``source`` has,
    and ``maps``, those of its figures that are no charts."""
    found = {chart.name: chart for chart in charts if chart.name}
    panels = [name for name in PANELS if name in found]
    if "rate" in panels and "utilization" in panels:
        panels.remove("utilization")
    if figure == OVERVIEW and panels:
        return [found[name] for name in panels]
    if figure in found:
        return [found[figure]]
    names = [*([OVERVIEW] if panels else []), *found, *maps]
    if not names:
        raise MarqueueError(f"{source}: has nothing to draw")
    raise MarqueueError(f"--figure of {source}: {unknown(figure, names)}")


def chosen_curves(
    charts: Sequence[Chart], choices: Mapping[str, Sequence[str]]
) -> list[tuple[Chart, list[tuple[str, ChartCurve]]]]:
    """The charts with those curves whose tags are among the wanted ones, with names that tell them
    apart.

    ``choices`` are links, flows and replications by the name of their tag: by default all links,
    the first flow and the first replication. A flow may be given by its number. Raises
    MarqueueError with the values that the charts have.
    """
    drawn = []
    for chart in charts:
        left = list(chart.curves)
        for tag in ("link", "flow", "replication"):
            left = _with_tag(left, tag, choices.get(tag, ()))
        drawn.append((chart, named(left)))
    return drawn


def refuse_choices(choices: Mapping[str, Sequence[str]]) -> None:
    """Raises MarqueueError if something is chosen of a figure that has nothing to choose."""
    for tag, given in choices.items():
        if given:
            raise MarqueueError(
                f"--{tag}: nothing in the figure is of a {tag}, expected no --{tag}"
            )


def _with_tag(curves: Sequence[ChartCurve], tag: str, given: Sequence[str]) -> list[ChartCurve]:
    """The curves that have one of the given values of a tag, in the order of ``given``, and those
    without the tag."""
    there = list(dict.fromkeys(curve.tags[tag] for curve in curves if tag in curve.tags))
    if not there:
        refuse_choices({tag: given})
        return list(curves)
    if given:
        values = [_value(tag, each, there) for each in given]
    else:
        values = there if tag == "link" else [each for each in there if each != MEAN][:1]
    without = [curve for curve in curves if tag not in curve.tags]
    return [curve for value in values for curve in curves if curve.tags.get(tag) == value] + without


def _value(tag: str, given: str, there: Sequence[str]) -> str:
    """The value of a tag that is meant."""
    short = {_short(tag, value): value for value in there}
    if given in there:
        return given
    if given in short:
        return short[given]
    if tag == "replication":
        raise MarqueueError(f"--{tag}: got {show(given)}, expected one of {', '.join(short)}")
    raise MarqueueError(f"--{tag}: {unknown(given, there)}")


def _short(tag: str, value: str) -> str:
    """How a value may also be given: ``mean``, or the number of a flow."""
    if value == MEAN:
        return "mean"
    return value.rpartition(" ")[2] if tag == "flow" else value
