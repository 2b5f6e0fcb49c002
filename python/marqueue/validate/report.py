"""The ladder as a page with pictures."""

from __future__ import annotations

import json
from pathlib import Path

from marqueue.report.builder import Outcome, Report, Verdict
from marqueue.validate import check, ladder

OUTCOMES: dict[check.Verdict, Outcome] = {
    "pass": "holds",
    "fail": "fails",
    "unclear": "open",
    "explained": "partly",
}


def ladder_report(of: ladder.Ladder) -> Report:
    """A section a rung: what is run, figures, checks."""
    effort = f"{of.effort.value} form, version {of.as_dict()['version']}"
    page = Report("Validation", of.summary, effort)
    for each in of.rungs:
        page.section(each.rung.title).text(each.rung.about)
        if each.skipped:
            page.notes([each.skipped], "Skipped")
        for caption, figure in each.rung.draw(each.checks).items():
            page.figure(figure, caption)
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
        note=" ".join(filter(None, (each.because, each.explained))),
    )


def write_report(of: ladder.Ladder, directory: Path) -> None:
    """Writes the page and the checks as JSON into a new directory."""
    directory.mkdir(parents=True)
    text = json.dumps(of.as_dict(), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    (directory / "checks.json").write_text(text + "\n", encoding="utf-8")
    ladder_report(of).write(directory / "report.html")
