"""The report of the ladder as a page with figures."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from marqueue.reports.builder import Outcome, Report, Verdict
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.provenance import Circumstances
from marqueue.validation import check, ladder

OUTCOMES: dict[check.Verdict, Outcome] = {
    "pass": "holds",
    "fail": "fails",
    "unclear": "open",
    "explained": "explained",
    "unexplained": "open",
}


def ladder_report(of: ladder.Ladder) -> Report:
    """A section per rung: runs, figures, checks."""
    # Loads matplotlib, which a list of the rungs does without.
    from marqueue.plots.style import svg

    effort = f"{of.effort.value} form, version {of.as_dict()['version']}"
    titles = [each.rung.title for each in of.rungs]
    page = Report(titles[0] if len(titles) == 1 else "Validation", of.summary, effort)
    for each in of.rungs:
        page.section(each.rung.title).text(each.rung.about)
        if each.skipped:
            page.notes([each.skipped], "Skipped")
        for caption, figure in each.rung.draw(each.checks).items():
            page.figure(svg(figure), caption)
        if each.checks:
            page.verdicts(map(_verdict, each.checks))
    return page


def _verdict(each: check.Check) -> Verdict:
    unit = f" {each.unit}" if each.unit else ""
    return Verdict(
        claim=each.what,
        source=each.against,
        expected=f"{each.target}{unit} ({each.tolerated})",
        measured=each.figure,
        outcome=OUTCOMES[each.verdict],
        note=" ".join(filter(None, (each.because, each.explained, each.unexplained))),
        word=each.verdict,
    )


def write_report(of: ladder.Ladder, made: Circumstances, directory: Path) -> None:
    """Writes the page, and the checks as JSON, into an empty directory."""
    write_json(directory / "checks.json", of.as_dict())
    ladder_report(of).write(directory / "report.html")
    summary = of.as_dict()
    provenance = {
        "kind": "validate",
        "version": summary["version"],
        "commit": summary["commit"],
        "partial": None,
    }
    seal_directory(directory, provenance, dataclasses.asdict(made))
