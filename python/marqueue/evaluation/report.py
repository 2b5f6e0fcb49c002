"""The report of an evaluation: a page of verdicts, then a section for each scenario."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from marqueue.evaluation.criterion import Judgement
from marqueue.evaluation.criterion import Verdict as Found
from marqueue.evaluation.evaluating import Evaluation, Outcome
from marqueue.evaluation.measures import Measure
from marqueue.evaluation.pictures import PERIOD, Distribution, Picture, ellipse
from marqueue.evaluation.table import reasons, shown_value
from marqueue.programs.registry import sources
from marqueue.reports.builder import Cell, Judged, Report, Verdict
from marqueue.reports.builder import Outcome as Shown
from marqueue.reports.chart import Chart, ChartCurve
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.provenance import Circumstances

SHOWN: dict[Found, Shown] = {
    "pass": "holds",
    "fail": "fails",
    "not decided": "open",
    "not applicable": "explained",
    "no model": "explained",
}
SCENARIOS = "scenarios"
"""The folder with the scenario files."""


def evaluation_report(of: Evaluation) -> Report:
    """The page."""
    baselines = ", ".join(each.label for each in of.baselines)
    page = Report(
        f"{of.contender.label}: {of.suite.name}",
        of.suite.title,
        f"{of.effort.value} form, {of.bench.name}, seed {of.seed}, beside {baselines}",
    )
    page.answer(f"{of.summary[0].upper()}{of.summary[1:]}.")
    rows: list[list[Cell]] = []
    for outcome in of.outcomes:
        failed = [each.what for each in outcome.judgements if each.verdict == outcome.verdict]
        why = "; ".join(failed) if outcome.verdict in ("fail", "not decided") else ""
        verdict = Judged(SHOWN[outcome.verdict], outcome.verdict)
        rows.append([outcome.case.title, verdict, outcome.case.section, why])
    page.table(["Scenario", "Verdict", "Section", "Criteria with that verdict"], rows)
    page.notes(
        [f"Not in the suite: {each}" for each in of.suite.missing]
        + ([f"Not asked for: {', '.join(of.left_out)}"] if of.left_out else []),
        "What is not here",
    )
    page.section("Limits and their reasons").text(
        "A criterion is a limit for a measure, or for its ratio to the same measure of the "
        "baseline "
        "in the same replication, with the same random numbers. It passes if the whole 95% "
        "interval "
        "over replications is on the right side, fails if the whole interval is on the wrong side, "
        "and is not decided in between. The text of the suite states no limits: these are ours.",
    )
    page.table(["No.", "Reason"], [[n, text] for text, n in reasons([of]).items()])
    for outcome in of.outcomes:
        _case(page, outcome, reasons([of]))
    return page


def _case(page: Report, outcome: Outcome, numbers: Mapping[str, int]) -> None:
    case = outcome.case
    page.section(f"{case.section} {case.title}").text(case.about)
    page.verdicts(_verdict(each, numbers) for each in outcome.judgements)
    page.charts([*_charts(outcome.pictures), *_through(outcome)])
    labels = [label for label, runs in outcome.measured.items() if "" in runs]
    if labels:
        rows: list[list[Cell]] = []
        for measure in case.measures:
            unit = f" [{measure.unit}]" if measure.unit else ""
            values = [outcome.measured[label][""][measure.name].estimate for label in labels]
            if any(values):
                rows.append([f"{measure.label}{unit}", *(each or "" for each in values)])
        page.table(["Measure", *labels], rows, folded=True, caption="All measures")
    files = ", ".join(f"{SCENARIOS}/{name}.toml" for name in outcome.scenarios)
    if files:
        page.text(f"Scenario files: {files}.")


def _verdict(each: Judgement, numbers: Mapping[str, int]) -> Verdict:
    return Verdict(
        claim=each.what,
        source=f"limit {numbers[each.because]}",
        expected=each.limit,
        measured=shown_value(each),
        outcome=SHOWN[each.verdict],
        note=each.note,
        word=each.verdict,
    )


def _charts(pictures: Mapping[str, Picture]) -> Iterator[Chart]:
    if not pictures:
        return
    cloud = []
    for label, each in pictures.items():
        contour = ellipse(1e3 * each.delay, 1e-6 * each.goodput)
        if contour is not None:
            cloud.append(ChartCurve(*contour, tags={"contender": label}))
    if cloud:
        yield Chart(
            "Delay and goodput: one standard deviation over replications",
            "Mean queueing delay [ms]", "Goodput [Mbit/s]", cloud, kind="scatter",
        )  # fmt: skip

    def over_time(title: str, label: str, of: str) -> Chart:
        curves = [
            ChartCurve(each.time, getattr(each, of), tags={"contender": name})
            for name, each in pictures.items()
        ]
        return Chart(title, "Time [s]", label, curves, over_time=True, floor=0.0)

    yield over_time("Queue, mean over replications", "Queue [packets]", "queue")
    yield over_time("Utilization, mean over replications", "Utilization", "busy")
    yield Chart(
        "Queueing delay, distribution over packets", "Queueing delay [ms]", "Share of packets",
        [
            ChartCurve(1e3 * each.delay_upper, each.delay_share, tags={"contender": label})
            for label, each in pictures.items()
        ],
        kind="step", floor=0.0,
    )  # fmt: skip
    yield from _distributions(
        "Delay variation, distribution over packets", "Delay above the flow's smallest [ms]",
        "Share of packets", {label: each.variation for label, each in pictures.items()}, 1e3,
    )  # fmt: skip
    yield from _distributions(
        f"Rate of TCP flows over {PERIOD:g} s, distribution over flows and time", "Rate [Mbit/s]",
        "Share of periods", {label: each.rates for label, each in pictures.items()}, 1e-6,
    )  # fmt: skip


def _distributions(
    title: str, x: str, y: str, of: Mapping[str, Distribution | None], scale: float
) -> Iterator[Chart]:
    """A chart of distributions, for those that have one."""
    curves = [
        ChartCurve(scale * each[0], each[1], tags={"contender": label})
        for label, each in of.items()
        if each is not None
    ]
    if curves:
        yield Chart(title, x, y, curves, kind="step", floor=0.0)


def _through(outcome: Outcome) -> Iterator[Chart]:
    """A measure against another, a point for each variant, in order of the first."""
    by_name = {each.name: each for each in outcome.case.measures}
    for x, y in outcome.case.through:
        curves = []
        for label, runs in outcome.measured.items():
            points = sorted(
                (float(of[x].values.mean()) * of[x].scale, float(of[y].values.mean()) * of[y].scale)
                for of in runs.values()
            )
            across, up = np.array(points).T
            curves.append(ChartCurve(across, up, tags={"contender": label}))
        yield Chart(
            f"{by_name[y].label} against {by_name[x].label.lower()}: a point for each variant",
            _axis(by_name[x]), _axis(by_name[y]), curves,
        )  # fmt: skip


def _axis(measure: Measure) -> str:
    return f"{measure.label} [{measure.unit}]" if measure.unit else measure.label


def write_report(of: Evaluation, made: Circumstances, directory: Path) -> None:
    """Writes the page, the verdicts as JSON and the scenario files into an empty directory."""
    (directory / SCENARIOS).mkdir()
    for outcome in of.outcomes:
        for name, scenario in outcome.scenarios.items():
            path = directory / SCENARIOS / f"{name}.toml"
            path.write_text(scenario.to_toml(), encoding="utf-8")
            for file, source in sources(scenario.to_dict()).items():
                (path.parent / file).write_bytes(source.encode())
    write_json(directory / "evaluation.json", of.as_dict())
    evaluation_report(of).write(directory / "report.html")
    summary = of.as_dict()
    provenance = {
        "kind": "evaluate",
        "version": summary["version"],
        "commit": summary["commit"],
        "partial": None,
    }
    seal_directory(directory, provenance, dataclasses.asdict(made))
