"""The summary of a result, for JSON and for the terminal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marqueue.results.congested_links import CONGESTION, congested_links
from marqueue.results.data import CONFIDENCE, ResultData
from marqueue.results.flows import FLOW_FIGURES
from marqueue.results.media import MEDIA_FIGURES
from marqueue.results.modelled import bottleneck_from, modelled_links, simulated_and_modelled
from marqueue.results.pipe import PIPE_FIGURES
from marqueue.results.result_warnings import MOST_LISTED, listed, provenance_remarks
from marqueue.results.subject import Subject
from marqueue.results.summary_table import SummaryTable
from marqueue.results.window import LINK_FIGURES
from marqueue.statistics.estimates import Estimate
from marqueue.statistics.output_analysis import BatchMeans

if TYPE_CHECKING:
    from marqueue.results.fluid_overlay import Overlay
    from marqueue.results.optimum import FairOptimum

#: Links in columns of the table in the terminal; if there are more, so many of the most congested.
MOST_LINK_COLUMNS, FEW_LINK_COLUMNS = 12, 5
#: The figures in the terminal; the summary and the report have all figures.
SHORT_LINK = (
    "utilization",
    "loss_ratio",
    "mark_ratio",
    "queue_mean",
    "queue_std",
    "delay_mean",
    "delay_p99",
)
#: Figures that are means of a time series, with the name of that series.
BATCHED = {"utilization": "utilization", "queue_mean": "queue"}
#: Batches of a single replication, and the least number of samples per batch.
BATCHES, BATCH_SAMPLES = 20, 10
SHORT_PIPE = ("wire_loss_ratio", "reordered_ratio", "extra_delay")
SHORT_FLOWS = ("goodput", "jain", "fct_mean", "fct_p95")
SHORT_MEDIA = ("media_rate", "frame_delay_mean", "frame_delay_p95", "freezes")


def _plain(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: e.as_dict() for name, e in figures.items()}


def _span(result: ResultData, window: int | None) -> dict[str, Any]:
    begin, end = result.span(window)
    return {"begin": begin, "end": end}


def _link(result: ResultData, name: str, window: int | None) -> dict[str, Any]:
    link = result.link(name)
    shares = link.shares(window)
    return {
        **_plain(link.figures(window)),
        "drops_by_reason": _plain(link.reasons("drops", window)),
        "marks_by_reason": _plain(link.reasons("marks", window)),
        **({"groups": {g: _plain(each) for g, each in shares.items()}} if shares else {}),
        **({"tc": link.tc} if link.tc and window is None else {}),
    }


def measured(result: ResultData, subject: Subject) -> dict[str, Any] | None:
    """The figures of a subject over the measured time, in base units, as the summary has those that
    it lists; None if the result has no such link, group or class."""
    name = subject.name
    match subject.kind:
        case "link":
            return _link(result, name, None) if name in result.links else None
        case "group":
            return _plain(result.traffic(group=name)) if name in result.groups else None
        case "class":
            return _plain(result.traffic(class_=name)) if name in result.classes else None
        case "flows":
            return _plain(result.traffic())


def _part(result: ResultData, window: int | None) -> dict[str, Any]:
    """All figures of a window (None: the measured time), in base units."""
    pipes = {name: _plain(result.pipe(name).figures(window)) for name in result.pipes}
    media = {g: _plain(result.media(window, group=g)) for g in listed(result.media_groups)}
    return {
        **_span(result, window),
        "links": {
            name: _link(result, name, window) for name in congested_links(result, MOST_LISTED)
        },
        **({"pipes": pipes} if pipes else {}),
        **({"media": media} if media else {}),
        "flows": _plain(result.traffic(window)),
        "groups": {g: _plain(result.traffic(window, group=g)) for g in listed(result.groups)},
        "classes": {c: _plain(result.traffic(window, class_=c)) for c in listed(result.classes)},
    }


def summary(
    result: ResultData,
    warnings: Sequence[str],
    optimum: FairOptimum | str | None,
    theory: Overlay | None,
) -> dict[str, Any]:
    """All figures in base units, ready for JSON; see :meth:`Result.summary`.

    ``optimum`` and ``theory`` are left out if they are None. The summary is a function of scenario,
    seed, version and the options of the run.
    """
    provenance = result.provenance
    return {
        "name": result.name,
        "version": provenance.version,
        "scenario_hash": provenance.scenario_hash,
        "seed": provenance.seed,
        "replications": result.replications,
        "confidence": CONFIDENCE,
        "warmup": result.warmup,
        "partial": provenance.partial,
        "warmup_cut": provenance.warmup_cut,
        "stopping": provenance.stopping,
        **({} if provenance.live is None else {"live": provenance.live}),
        "warnings": warnings,
        **_modelled(result),
        **({} if optimum is None else {"optimum": optimum_as_dict(optimum)}),
        **({} if theory is None else {"theory": theory.to_dict()}),
        "measured": _part(result, None),
        "windows": [_part(result, w) for w in result.begun],
        "whole_run": {
            "flows": _plain(result.run_totals()),
            "groups": {g: _plain(result.run_totals(group=g)) for g in listed(result.groups)},
            "classes": {c: _plain(result.run_totals(class_=c)) for c in listed(result.classes)},
        },
    }


def _modelled(result: ResultData) -> dict[str, Any]:
    """The links of a hybrid run whose queues were models; nothing in other runs."""
    links = modelled_links(result)
    if not links:
        return {}
    return {
        "modelled": {
            "bottleneck_from": bottleneck_from(result.scenario),
            "number": len(links),
            "links": {link.name: link.as_dict() for link in listed(links)},
        }
    }


def optimum_as_dict(optimum: FairOptimum | str) -> dict[str, Any]:
    """The optimum, or the reason why there is none, ready for JSON."""
    return {"outside": optimum} if isinstance(optimum, str) else optimum.as_dict()


def table(result: ResultData) -> SummaryTable:
    """The main figures over the measured time."""
    begin, end = result.span()
    names = congested_links(result, _link_columns(result))
    from_batches = batched_figures(result, names)
    links = [result.link(name).figures() | from_batches.get(name, {}) for name in names]
    pipes = {name: result.pipe(name).figures() for name in listed(result.pipes)}
    shares = [result.link(name).shares() for name in names]
    media = result.media()
    flows = result.traffic()
    return SummaryTable(
        title=f"{result.name}{' (partial)' * result.partial}: {begin:g} to {end:g} s, "
        f"{result.replications} replication{'s' * (result.replications != 1)}",
        columns=names,
        sections=[
            [
                (figure.title, *(str(figure.shown(each)) for each in links))
                for figure in LINK_FIGURES
                if figure.name in SHORT_LINK
            ],
            [
                (f"{figure.title}, {name}", str(figure.shown(pipe)))
                for name, pipe in pipes.items()
                for figure in PIPE_FIGURES
                if figure.name in SHORT_PIPE and pipe[figure.name].mean > 0
            ],
            [
                (f"Share of {group}", *(str(each[group]["share"]) for each in shares))
                for group in (shares[0] if shares else ())
            ],
            [
                (figure.title, str(figure.shown(flows)))
                for figure in FLOW_FIGURES
                if figure.name in SHORT_FLOWS and flows[figure.name].n
            ],
            [
                (figure.title, str(figure.shown(media)))
                for figure in MEDIA_FIGURES
                if figure.name in SHORT_MEDIA and media and media[figure.name].n
            ],
        ],
        caption=_caption(result, from_batches),
    )


def _link_columns(result: ResultData) -> int:
    """Links that the table has room for."""
    number = len(result.links)
    return number if number <= MOST_LINK_COLUMNS else FEW_LINK_COLUMNS


def _caption(result: ResultData, from_batches: Mapping[str, Mapping[str, BatchMeans]]) -> str:
    """The meaning of ±, and remarks."""
    if result.replications > 1:
        lines = ["mean ± half width of the 95% confidence interval over replications"]
    elif from_batches:
        lines = [f"one replication: {batches_sentence(from_batches)}"]
    else:
        lines = ["one replication: no confidence intervals"]
    lines += filter(None, [simulated_and_modelled(result)])
    more = len(result.links) - _link_columns(result)
    if more > 0:
        lines.append(
            f"The {FEW_LINK_COLUMNS} links with the {CONGESTION}; {more:,} more are in the files"
        )
    return "\n".join([*lines, *provenance_remarks(result)])


def batched_figures(result: ResultData, links: Sequence[str]) -> dict[str, dict[str, BatchMeans]]:
    """Intervals of the mean queue and the utilization of a single replication, by link and figure.

    They are left out if there are too few samples or the batch means are correlated. The mean is
    that of the figure, which is exact, and not that of the samples.
    """
    if result.replications > 1 or not result.plan["sample"]:
        return {}
    begin, end = result.span()
    if (end - begin) * 1e9 / result.plan["sample"] < BATCHES * BATCH_SAMPLES:
        return {}
    out: dict[str, dict[str, BatchMeans]] = {}
    for name in links:
        link = result.link(name)
        figures = link.figures()
        for figure, series in BATCHED.items():
            means = link.batch_means(series, BATCHES)
            if means.independent:
                exact = dataclasses.replace(means, mean=figures[figure].mean)
                out.setdefault(name, {})[figure] = exact
    return out


def batches_sentence(from_batches: Mapping[str, Mapping[str, BatchMeans]]) -> str:
    """The meaning of ± for a single replication."""
    lags = [e.lag1 for each in from_batches.values() for e in each.values()]
    largest = max((lag for lag in lags if math.isfinite(lag)), default=0.0)
    return (
        f"± of utilization and mean queue is the half width of the 95% confidence interval over "
        f"{BATCHES} batch means of the time series (lag-1 autocorrelation of the batch means up to "
        f"{largest:.2f}); it is omitted if the batch means are correlated"
    )
