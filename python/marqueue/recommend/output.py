"""The files of a recommendation: report, data, and scenarios of the winner and its worst point."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from marqueue.recommend.question import LINK, Ecn
from marqueue.recommend.recommendation import ACROSS, UP, Recommendation, summary
from marqueue.reports.builder import Report
from marqueue.reports.chart import Chart, ChartCurve
from marqueue.results import Subject
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.provenance import commit

SENDERS = {
    Ecn.NONE: "CUBIC without ECN",
    Ecn.CLASSIC: "CUBIC with ECN",
    Ecn.L4S: "Prague with ECT(1)",
}


def write(found: Recommendation, directory: Path) -> None:
    """Writes all files into an empty directory."""
    best = found.judged[0]
    write_json(directory / "summary.json", summary(found))
    worst = best.worst(best.least)
    (directory / "worst-point.toml").write_text(worst.scenario.to_toml(), encoding="utf-8")
    (directory / "best.toml").write_text(best.points[-1].scenario.to_toml(), encoding="utf-8")
    page(found).write(directory / "report.html")
    circumstances = dataclasses.asdict(found.made)
    provenance = {
        "kind": "recommendation",
        "commit": commit(),
        "seed": found.seed,
        "question": summary(found)["question"],
        "partial": None,
    }
    seal_directory(directory, provenance, circumstances)


def page(found: Recommendation) -> Report:
    """The report."""
    asked = found.asked
    best = found.judged[0]
    goals = ", ".join(goal.text for goal in asked.goals)
    users = f"{asked.flows.low:g} to {asked.flows.high:g} users of {', '.join(asked.mix)}"
    rtts = f"{1e3 * asked.rtt.low:g} to {1e3 * asked.rtt.high:g} ms"
    warmup, measured = found.seconds
    report = Report(
        f"Which AQM for {asked.rate / 1e6:g} Mbit/s",
        f"Round trips of {rtts}, {users}, {SENDERS[asked.ecn]}. Goals: {goals}.",
        f"{found.effort.replications} replications of {measured:.4g} s after {warmup:.4g} s of "
        f"warm-up, seed {found.seed}. ± is the half width of the 95% interval.",
    )
    if found.winner:
        report.answer(
            f"{best.candidate.name} meets all goals at all points, with a least margin of "
            f"{best.safety:.1%} of the way from {best.least.text} to its best value."
        )
    else:
        report.answer(
            f"No AQM is known to meet all goals; {best.candidate.name} comes nearest "
            f"({best.verdict})."
        )
    report.section("Delay against utilization").grid(_grid(found), _chart(found))
    report.section("Candidates").table(
        ["AQM", "Verdict", "Goal", "Worst", "At", "Margin"],
        [
            [
                each.candidate.name,
                each.verdict,
                goal.text,
                each.worst(goal).figures[goal.chosen].scaled(goal.chosen.figure.scale),
                each.worst(goal).point.name,
                f"{each.margin(goal):.1%}",
            ]
            for each in found.judged
            for goal in asked.goals
        ],
        "Worst is the point with the least margin, in the unit of the goal. A margin is a share "
        "of the way from the bound to the best value.",
    )
    report.section("Linux")
    if found.commands:
        report.code("\n".join(found.commands), "For a device that is faster than the link")
    else:
        report.text(f"Linux has no {best.candidate.name}.")
    report.section("Parameters", folded=True).table(
        ["AQM", "Parameters", "Buffer [packets]", "From"],
        [
            [
                each.candidate.name,
                ", ".join(f"{k} = {v}" for k, v in each.candidate.aqm.items() if k != "name"),
                each.candidate.buffer,
                each.candidate.origin,
            ]
            for each in found.judged
        ],
    )
    report.section("Not tried", folded=True).table(
        ["AQM", "Reason"], [[name, reason] for name, reason in found.not_tried.items()]
    )
    return report


def _chart(found: Recommendation) -> Chart:
    curves = []
    for each in found.judged:
        across, up = (_values(each.points, name) for name in (ACROSS, UP))
        half = up[1]
        curves.append(
            ChartCurve(across[0], up[0], each.candidate.name, band=(up[0] - half, up[0] + half))
        )
    return Chart(
        "Delay against utilization, all points",
        "Utilization",
        "Queueing delay, p99 [ms]",
        curves,
        kind="scatter",
        floor=0.0,
    )


def _values(points: Any, name: str) -> tuple[Any, Any]:
    link = Subject("link", LINK)
    figure = link.figures[name]
    found = [
        estimate.scaled(figure.scale)
        for at in points
        for chosen, estimate in at.figures.items()
        if chosen.figure.name == name and chosen.subject == link
    ]
    return (
        np.array([each.mean for each in found]),
        np.array([each.half_width or 0.0 for each in found]),
    )


def _grid(found: Recommendation) -> dict[str, Any]:
    """The data of the page's charts, as those of a sweep over AQMs and points."""
    names = [each.candidate.name for each in found.judged]
    places = [at.point.name for at in found.judged[0].points]
    chosen = list(found.judged[0].points[0].figures)
    at = {name: i for i, name in enumerate(each.figure.name for each in chosen)}
    return {
        "axes": [
            {"label": "AQM", "names": names, "numbers": None, "unit": ""},
            {"label": "Point", "names": places, "numbers": None, "unit": ""},
        ],
        "figures": [
            {
                "title": each.figure.title,
                "better": {"utilization": "more", "jain": "more"}.get(each.figure.name, "less"),
            }
            for each in chosen
        ],
        "points": [
            {
                "number": i * len(places) + j,
                "at": [i, j],
                "values": [
                    [estimate.mean, estimate.half_width] if estimate.n else [None, None]
                    for estimate in (
                        measured.figures[each].scaled(each.figure.scale) for each in chosen
                    )
                ],
            }
            for i, judged in enumerate(found.judged)
            for j, measured in enumerate(judged.points)
        ],
        "pareto": [at[ACROSS], at[UP]],
    }
