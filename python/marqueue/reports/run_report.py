"""The report of a result. The sections about its input are in
:mod:`marqueue.reports.run_settings`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marqueue.reports.builder import Cell, Report
from marqueue.reports.network_picture import is_crowded
from marqueue.reports.run_answer import answer, highlights
from marqueue.reports.run_charts import MOST_LINKS_DRAWN, run_charts, run_choices, time_marks
from marqueue.reports.run_settings import asked, reproduce, rest, settings, time
from marqueue.results import (
    FLOW_FIGURES,
    LINK_FIGURES,
    RUN_FIGURES,
    Figure,
    Result,
)
from marqueue.results.congested_links import CONGESTION, congested_links
from marqueue.results.media import MEDIA_FIGURES
from marqueue.results.modelled import modelled_links, simulated_and_modelled
from marqueue.results.network_map import network_map
from marqueue.results.output_directory import claim
from marqueue.results.pipe import PIPE_FIGURES
from marqueue.results.result_warnings import MOST_LISTED, listed
from marqueue.results.summary import batched_figures, batches_sentence
from marqueue.statistics.estimates import Estimate

if TYPE_CHECKING:
    from marqueue.results.optimum import FairOptimum

#: Links, groups or classes of flows in columns; if there are more, each has a row.
MOST_COLUMNS = 12
#: The file with the figures of every link.
WINDOWS = "windows.parquet beside this page"


def write_report(result: Result, path: str | os.PathLike[str]) -> Path:
    """Writes the report of a result as one self-contained page, and returns its path."""
    return report(result).write(path)


def save_with_report(result: Result, directory: str | os.PathLike[str]) -> Path:
    """Writes a result and its report into a new or empty directory, and returns its path.

    Raises RunError if it cannot be written or is not empty.
    """
    with claim(directory) as output, output.staged() as fresh:
        result.write_files(fresh, lambda inside: write_report(result, inside / "report.html"))
    return Path(directory)


def report(result: Result) -> Report:
    """The report of a result; further sections can be added."""
    title = f"{result.name} (partial)" if result.partial else result.name
    page = Report(title, result.scenario.get("description", ""), _byline(result))
    page.notes(filter(None, [result.provenance.partial_remark]), "A limit ended this run")
    page.answer(answer(result))
    page.highlights(highlights(result))
    page.notes(result.warnings)
    _network(page, result)
    charts = run_charts(result)
    if charts:
        page.section("Pictures").charts(charts, run_choices(result), _caption(result))
    _links(page, result)
    _shares(page, result)
    _pipes(page, result)
    _modelled(page, result)
    if not result.provenance.command:
        _flows(page, result)
    _windows(page, result)
    if result.theory is not None:
        # The models take longer to load than most pages to make, which have none.
        from marqueue.reports.theory_sections import theory

        theory(page, result.theory)
    asked(page, result)
    settings(page, result)
    reproduce(page, result)
    return page


def _network(page: Report, result: Result) -> None:
    """Adds the map of the network, if it has one."""
    found = network_map(result)
    if found is None:
        return
    where = (
        "Nodes are at their coordinates."
        if found.geographic
        else "Nodes are placed by the number of hops between them."
    )
    lines = (
        "Grey: in the lowest range, or nothing was measured. Of both directions of a connection, "
        "the one in the higher range is on top."
        if is_crowded(found)
        else "Grey: nothing was measured. A connection has a line for each direction, on the right "
        "as seen in that direction."
    )
    modelled = (
        " Where a queue was a model, the load takes the place of utilization."
        if modelled_links(result)
        else ""
    )
    page.section("Network").network(
        found,
        f"Over the measured time and all replications. {lines} {where}{modelled} Point at a line "
        "for its figures.",
    )


def _caption(result: Result) -> str:
    """What the curves are, where they are not named beside the picture."""
    n = result.replications
    parts = [
        f"The band is the 95% Student interval of the mean over {n} replications at each sample."
        if n > 1
        else "",
        time_marks(result),
        f"One sample is {time(result.plan['sample'])}." if result.plan["sample"] else "",
        f"The {MOST_LINKS_DRAWN} links with the {CONGESTION}; the others are only in the tables."
        if len(result.links) > MOST_LINKS_DRAWN
        else "",
    ]
    return " ".join(filter(None, parts))


def _byline(result: Result) -> str:
    begin, end = result.span()
    n = result.replications
    cut = f" after a warm-up of {begin:g} s" if begin else ", from the start"
    spread = (
        "± is the half width of the 95% Student confidence interval over replications."
        if n > 1
        else "With a single one there are no intervals over replications."
    )
    return (
        f"Measured over {end - begin:g} s{cut}; {n} replication{'s' * (n > 1)}. {spread} "
        f"marqueue {result.provenance.version}, seed {result.provenance.seed}."
    )


def _links(page: Report, result: Result) -> None:
    page.section("Links", folded=True)
    names = congested_links(result, MOST_LISTED)
    batched = batched_figures(result, names)
    figures = {name: result.link(name).figures() | batched.get(name, {}) for name in names}
    spread = f" There is one replication: {batches_sentence(batched)}." if batched else ""
    more = len(result.links) - len(names)
    chosen = f" The {len(names)} links with the {CONGESTION}; {more:,} more are in {WINDOWS}."
    _by_link(
        page,
        _rows(LINK_FIGURES, list(figures.values())),
        names,
        "Over the measured time. The queue is a time average without the packet in transmission. "
        "The queueing delay is from arrival to the start of the transmission. The delay "
        "variation is the mean absolute difference between the delays of consecutive packets "
        f"(RFC 3393).{spread}{chosen if more else ''}",
    )
    for of, heading in (("drops", "Packets dropped"), ("marks", "Packets marked")):
        reasons = {name: result.link(name).reasons(of) for name in names}
        found = sorted({r for each in reasons.values() for r, e in each.items() if e.mean > 0})
        rows: list[list[Cell]] = [[r, *(reasons[name].get(r) for name in names)] for r in found]
        if rows:
            _by_link(page, rows, names, f"{heading}, by reason.", "Reason")
    for name in names:
        if said := result.link(name).tc:
            page.code(said[0].rstrip(), f"tc -s at {name}, at the end of replication 1.")


def _by_link(
    page: Report, rows: list[list[Cell]], links: Sequence[str], caption: str, head: str = ""
) -> None:
    """Adds a table with a column for each link; if there are too many, with a row for each."""
    if len(links) <= MOST_COLUMNS:
        page.table([head, *links], rows, caption)
        return
    columns = [str(row[0]) for row in rows]
    turned: list[list[Cell]] = [
        [name, *(row[i] for row in rows)] for i, name in enumerate(links, start=1)
    ]
    page.table(["Link", *columns], turned, caption)


def _share(share: float | None) -> Cell:
    return "" if share is None else f"{share:.3f}"


def _optimum_sentences(optimum: FairOptimum | str | None) -> str:
    """Sentences about the optimum below the table of shares."""
    if optimum is None:
        return ""
    if isinstance(optimum, str):
        return f" There is no optimum to compare with: {optimum}."
    pairs = "".join(f" {link} and its CPU: {region}." for link, region in optimum.pairs.items())
    return (
        f" Optimum: proportionally fair rates of the long flows, which are {optimum.region}."
        f"{pairs} " + " ".join(optimum.assumed)
    )


def _shares(page: Report, result: Result) -> None:
    """Adds the shares of CPUs and links by group of traffic, in scenarios with CPUs."""
    shares = {name: result.link(name).shares() for name in congested_links(result, MOST_COLUMNS)}
    groups = list(next(iter(shares.values()), {}))
    if not groups:
        return
    units = {name: "cycles" if result.link(name).plan.get("cpu") else "bit" for name in shares}
    optimum = result.optimum
    aims = {} if optimum is None or isinstance(optimum, str) else optimum.shares
    wanted = ("optimum",) if aims else ()
    heads = [h for name in shares for h in (f"{name} [M{units[name]}/s]", "share", *wanted)]
    rows: list[list[Cell]] = [
        [
            group,
            *(
                cell
                for name, each in shares.items()
                for cell in (
                    each[group]["rate"].scaled(1e-6),
                    each[group]["share"],
                    *(_share(aims[name].get(group)) for _ in wanted),
                )
            ),
        ]
        for group in groups
    ]
    page.table(
        ["Group", *heads],
        rows,
        "Work of CPUs and links for each group of traffic over the measured time, and its share of "
        "their capacity." + _optimum_sentences(optimum),
    )


def _pipes(page: Report, result: Result) -> None:
    """Adds the impairments of links."""
    if not result.pipes:
        return
    _by_link(
        page,
        _rows(PIPE_FIGURES, [result.pipe(name).figures() for name in listed(result.pipes)]),
        listed(result.pipes),
        "Impaired links over the measured time, on the wire behind queue and transmitter. These "
        "losses are not part of the losses of queues.",
    )


def _modelled(page: Report, result: Result) -> None:
    """Adds the links of a hybrid run whose queues were models."""
    links = modelled_links(result)
    if not links:
        return
    rows: list[list[Cell]] = [
        [link.name, f"{link.predicted:.3f}", f"{link.wait * 1e3:.3g}", link.load]
        for link in listed(links)
    ]
    more = len(links) - len(rows)
    chosen = f" The {len(rows)} with the largest load; {more:,} more are in modelled.parquet."
    page.section("Modelled links", folded=True).text(f"{simulated_and_modelled(result)}.")
    page.table(
        ["Link", "Predicted utilization", "Mean wait in the delay [ms]", "Load of what arrived"],
        rows,
        "No packet was queued, lost or marked here. Utilization and wait are predictions from "
        "before the run: the largest of several answers to how much a link carries, and the mean "
        "wait of M/G/1 at it. The load is what was delivered over the link in the measured time, "
        f"with headers and acknowledgements, as a share of its rate.{chosen if more else ''}",
    )


def _rows(
    figures: Sequence[Figure[Any]], estimates: Sequence[Mapping[str, Estimate]]
) -> list[list[Cell]]:
    """A row per figure and a column per set of estimates; figures without values are omitted."""
    return [
        [f.title, *(f.shown(each) for each in estimates)]
        for f in figures
        if any(each[f.name].n for each in estimates)
    ]


def _flows(page: Report, result: Result) -> None:
    page.section("Flows", folded=True)
    parts: list[tuple[str | None, str | None]] = [(None, None)]
    if 1 < len(result.groups) <= MOST_COLUMNS:
        parts += [(group, None) for group in result.groups]
    if 1 < len(result.classes) <= MOST_COLUMNS:
        parts += [(None, class_) for class_ in result.classes]
    heads = ["", *(group or class_ or "all" for group, class_ in parts)]
    page.table(
        heads,
        _rows(FLOW_FIGURES, [result.traffic(group=g, class_=c) for g, c in parts]),
        "Over the measured time: all flows, then by group of traffic and by class. Goodput is "
        "payload delivered in order; for a flow, over the time for which it was active. Jain's "
        "index covers the unlimited flows that were active throughout. Completion times cover "
        "finite flows that started in the measured time and finished before the end of the run.",
    )
    page.table(
        heads,
        _rows(RUN_FIGURES, [result.run_totals(group=g, class_=c) for g, c in parts]),
        "Counts of flows over the whole run, including the warm-up.",
    )
    if result.media_groups:
        named = list(listed(result.media_groups))
        page.table(
            ["", *named],
            _rows(MEDIA_FIGURES, [result.media(group=g) for g in named]),
            "Media over the measured time. A frame's delay is from its making to its showing; one "
            "is shown once it is whole and the frame before it is shown, or it is a key frame. A "
            "freeze is a gap between two shown frames of more than three periods, and of more than "
            "a period and 150 ms.",
        )
    if len(result.groups) > MOST_COLUMNS:
        _many(page, "Group", result.groups, lambda g: result.traffic(group=g))
    if len(result.classes) > MOST_COLUMNS:
        _many(page, "Class", result.classes, lambda c: result.traffic(class_=c))


def _many(
    page: Report, what: str, names: Sequence[str], of: Callable[[str], Mapping[str, Estimate]]
) -> None:
    """Adds a table with a row for each group or class, if there are too many for columns."""
    estimates = {name: of(name) for name in listed(names)}
    figures = [f for f in FLOW_FIGURES if any(each[f.name].n for each in estimates.values())]
    rows: list[list[Cell]] = [
        [name, *(f.shown(each) for f in figures)] for name, each in estimates.items()
    ]
    page.table(
        [what, *(f.title for f in figures)],
        rows,
        f"Flows by {what.lower()} over the measured time{rest(names, 'flows.parquet')}",
        folded=True,
    )


def _windows(page: Report, result: Result) -> None:
    if len(result.measured) < 2:
        return
    page.section("Windows", folded=True)
    spans = [result.span(w) for w in result.measured]
    heads = ["", *(f"{begin:g} to {end:g} s" for begin, end in spans)]
    for name in congested_links(result, MOST_COLUMNS):
        link = [result.link(name).figures(w) for w in result.measured]
        page.table(heads, _rows(LINK_FIGURES, link), f"Link {name}.")
    flows = [result.traffic(w) for w in result.measured]
    page.table(heads, _rows(FLOW_FIGURES, flows), "All flows.")
