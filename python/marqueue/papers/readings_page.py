"""A page with the verdict on each claim under each reading of what a paper leaves open.

It is made from the summary of a reproduction with ``--readings all`` (``summary.json``), without
running anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from marqueue.errors import MarqueueError
from marqueue.papers.page import judged, markdown, under_each
from marqueue.papers.paper import Paper
from marqueue.papers.readings import ALL, MAIN, choices
from marqueue.papers.verdict import COUNTED

#: Verdicts over all readings, as heads of columns.
OVERALL = {
    "holds": "hold under all",
    "depends": "hold under some",
    "fails": "hold under none",
    "open": "not decided",
}


def readings_page(summary: Mapping[str, Any], paper: Paper, verdicts: str) -> str:
    """The page as Markdown; ``verdicts`` is the page of verdicts, relative to this one.

    Raises MarqueueError if the summary is not one of all readings.
    """
    if summary["readings"] != ALL:
        raise MarqueueError(f"{paper.key}: readings: got {summary['readings']}, expected {ALL}")
    asked = choices(paper.readings, summary["experiments"], ALL)
    labels = {n: [each.label for each in every] for n, every in asked.items() if len(every) > 1}
    claims = [each for each in summary["claims"] if each["experiment"] in labels]
    quick = "--quick " if summary["quick"] else ""
    first, *later = summary["looks"]
    more = f" --most-replications {later[-1]}" if later else ""
    added = f", and up to {later[-1]} while comparisons are not decided under one" if later else ""
    lines = [
        f"# {paper.title}: verdicts under each reading",
        "",
        "What the paper leaves open is read in the main way and in each alternative way, one at a "
        "time. These are the verdicts of "
        f"`marqueue paper run {paper.key} {quick}--readings all{more}`, "
        f"with {first} replications of every set-up{added}. The [page of verdicts]"
        f"({verdicts}) says what each reading means; it has more replications of the main "
        f"readings, which decide more. Numbers count comparisons: {COUNTED}.",
        "",
        *markdown(list(OVERALL.values()), [list(overall(claims).values())]),
        "",
        "## What turns",
        "",
        "Claims whose verdict under an alternative is not that under the main reading, which "
        "stands first.",
        "",
        *markdown(("Reading", "Claims"), _turns(claims, labels)),
    ]
    for number in labels:
        lines += ["", f"## Experiment {number}: {paper.experiments[number]}", ""]
        lines += markdown(*under_each(claims, number, labels[number]))
    rest = [number for number in summary["experiments"] if number not in labels]
    if rest:
        s, have = ("s", "have") if len(rest) > 1 else ("", "has")
        lines += ["", f"Experiment{s} {', '.join(rest)} {have} no reading."]
    return "\n".join(lines) + "\n"


def overall(claims: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The number of claims by verdict over all readings, in the order of :data:`OVERALL`."""
    counts = Counter(each["overall"]["verdict"] for each in claims)
    return {verdict: counts[verdict] for verdict in OVERALL}


def _turns(
    claims: Sequence[Mapping[str, Any]], labels: Mapping[str, Sequence[str]]
) -> Iterable[Sequence[str]]:
    """For each alternative, the claims whose verdict it changes."""
    turned: dict[str, list[str]] = {}
    for number, (_, *others) in labels.items():
        for label in others:
            here = turned.setdefault(label, [])
            for each in claims:
                if each["experiment"] != number:
                    continue
                main, other = each["readings"][MAIN], each["readings"][label]
                if main["verdict"] != other["verdict"]:
                    here.append(f"`{each['id']}`: {judged(main)} → {judged(other)}")
    return [(f"`{label}`", "<br>".join(changes) or "none") for label, changes in turned.items()]
