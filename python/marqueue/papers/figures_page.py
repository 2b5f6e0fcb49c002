"""A page with each figure of a paper beside what the paper says of it.

It is made from the summary of a reproduction (``summary.json``), without running anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from marqueue.papers.beside import beside
from marqueue.papers.readings import leads
from marqueue.papers.verdict import COUNTED, counted
from marqueue.reports.builder import OUTCOMES, Outcome

Summary = Mapping[str, Any]


def file_name(figure: str) -> str:
    """Name of a figure's files, without suffix: ``figure-3-a-delays`` for Figure 3 (a), delays."""
    return re.sub("[^a-z0-9]+", "-", figure.lower()).strip("-")


def figures_page(
    summary: Summary, title: str, experiments: Mapping[str, str], pictures: str, verdicts: str
) -> str:
    """The page as Markdown.

    ``experiments`` has the title of each experiment, ``pictures`` is the directory of the SVG
    files and ``verdicts`` the page of verdicts and ledger, both relative to this page.
    """
    form = "quick form" if summary["quick"] else "full form"
    lines = [
        f"# {title}: figures",
        "",
        "Each figure as measured here, beside what the paper says of it in our own words, the "
        f"paper's number, ours, and the verdict ({form}). A verdict is followed by its numbers of "
        f"comparisons: {COUNTED}. Reasons and readings are on the "
        f"[page of verdicts]({verdicts}).",
    ]
    for number in summary["experiments"]:
        lines += ["", f"## Experiment {number}: {experiments[number]}"]
        lines += _experiment(summary, number, pictures)
    return "\n".join(lines) + "\n"


def _experiment(summary: Summary, number: str, pictures: str) -> Iterable[str]:
    claims = [each for each in summary["claims"] if each["experiment"] == number]
    figures = [each for each in summary["figures"] if each["experiment"] == number]
    drawn: dict[str, list[Mapping[str, Any]]] = {}
    for each in figures:
        drawn.setdefault(_number(each["name"]), []).append(each)
    places = beside([each["name"] for each in figures], [each["where"] for each in claims])
    named = [list(dict.fromkeys(_number(figures[i]["name"]) for i in place)) for place in places]
    for of, same in drawn.items():
        yield from ("", f"### {of}")
        for each in same:
            name, caption = each["name"], each["caption"]
            picture = f"{pictures}/{file_name(name)}.svg"
            yield from ("", f"![{name} as measured here]({picture})", "")
            yield f"*{name}.* {caption}"
        yield from _table([c for c, by in zip(claims, named, strict=True) if by[:1] == [of]])
        also = [
            f"`{claim['id']}` (at {by[0]})"
            for claim, by in zip(claims, named, strict=True)
            if of in by[1:]
        ]
        if also:
            yield from ("", f"Also about {of}: {', '.join(also)}.")
    rest = [claim for claim, by in zip(claims, named, strict=True) if not by]
    if rest:
        yield from ("", f"### {_heading(list(drawn), alone=not any(named))}")
        yield from _table(rest)


def _heading(drawn: Sequence[str], *, alone: bool) -> str:
    """Over claims that name no picture: where no claim names one, they are about them all."""
    if not drawn:
        return "Claims without a picture"
    if not alone:
        return "Other claims"
    *first, last = (name.split(",")[0] for name in drawn)
    return f"Claims about {', '.join(first)}{' and ' if first else ''}{last}"


def _number(figure: str) -> str:
    """The figure of the paper that a picture belongs to: Figure 4 for Figure 4a."""
    found = re.match(r"Figure \d+", figure)
    return found[0] if found else figure


def _table(claims: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    if not claims:
        return
    yield from ("", "| The paper says | Where | Its number | Here | Verdict |", f"|{'---|' * 5}")
    for each in claims:
        leading = each["readings"][leads(each["readings"])]
        cells = (
            f"{each['says']} (`{each['id']}`)",
            each["where"],
            each["paper"],
            each["measured"],
            f"{OUTCOMES[cast(Outcome, each['verdict'])]}, {counted(leading)}",
        )
        yield f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text that ends neither a cell of a table nor the description of a picture."""
    return text.replace("|", "/").replace("[", "(").replace("]", ")")
