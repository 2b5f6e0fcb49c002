"""The pages with each figure of a paper beside what the paper says of it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from benches.paper_pages import thinned, with_rows_of

from marqueue.papers import PAPERS
from marqueue.papers.claims import read_claims
from marqueue.papers.figures_page import figures_page
from marqueue.plots import Curve, timeseries
from marqueue.plots.style import svg

PAGES = Path(__file__).parents[2] / "docs" / "papers"
IMAGE = re.compile(r"!\[([^\]]+) as measured here\]\(([^)]+)\)")


def rows(page: str) -> dict[str, list[str]]:
    """The cells of each claim's row, by the claim's id."""
    found = {}
    for line in page.splitlines():
        if line.startswith("| ") and (named := re.search(r"\(`([a-z0-9-]+)`\) \|", line)):
            assert named[1] not in found, f"{named[1]} twice"
            found[named[1]] = [cell.strip() for cell in line.strip("| ").split(" | ")]
    return found


@pytest.mark.parametrize("key", PAPERS)
def test_each_claim_is_once_on_the_page_with_the_verdict_of_the_page_of_verdicts(key: str) -> None:
    page = rows((PAGES / "figures" / f"{key}.md").read_text(encoding="utf-8"))
    verdicts = (PAGES / f"{key}.md").read_text(encoding="utf-8")
    judged = rows(verdicts.split("## Verdicts")[1].split("\n## ")[0])
    claims = {each.id: each for each in read_claims(PAPERS[key].folder / "claims.toml")}
    assert page.keys() == judged.keys() == claims.keys()
    for name, (says, where, paper, here, verdict) in page.items():
        claim = claims[name]
        assert says == f"{claim.says} (`{name}`)"
        assert (where, paper) == (claim.where.replace("|", "/"), claim.paper.replace("|", "/"))
        *_, measured, outcome, counts = judged[name]
        assert (here, verdict) == (measured, f"{outcome}, {counts}")


@pytest.mark.parametrize("key", PAPERS)
def test_each_picture_is_shown_and_can_be_drawn(key: str) -> None:
    page = (PAGES / "figures" / f"{key}.md").read_text(encoding="utf-8")
    shown = [PAGES / "figures" / file for _, file in IMAGE.findall(page)]
    assert sorted(shown) == sorted((PAGES / "figures" / key).glob("*.svg"))
    for picture in shown:
        root = ET.parse(picture).getroot()
        used = re.findall(r"#([A-Za-z]\w+)\)?\"", picture.read_text(encoding="utf-8"))
        ids = {each.get("id") for each in root.iter()}
        assert {each for each in used if not re.fullmatch("[0-9a-f]{6}", each)} <= ids


def test_pictures_stay_small() -> None:
    pictures = list((PAGES / "figures").rglob("*.svg"))
    assert len(pictures) > 60
    assert sum(each.stat().st_size for each in pictures) < 3e6


def claim(name: str, where: str) -> dict[str, object]:
    # In a file names are sorted: the main reading is not the first.
    readings = {"b=c": {"hold": 0, "open": 0, "fail": 3}, "main": {"hold": 2, "open": 1, "fail": 0}}
    return {
        "id": name, "experiment": "1", "where": where, "says": "It | rises.", "paper": "1",
        "measured": "2", "verdict": "open", "readings": readings,
    }  # fmt: skip


def test_a_claim_stands_below_the_figure_that_it_names() -> None:
    figures = ["Figure 4a", "Figure 7", "Figure 4b", "Figure 7 (a), packets", "Queue 1"]
    wheres = {
        "whole": "Fig. 4, section V",
        "part": "Fig. 4 (b)",
        "first-drawn": "Figs. 6, 7",
        "range": "Figs. 4-7",
        "without": "Fig. 40",
        "text": "Text",
    }
    summary = {
        "quick": True,
        "experiments": ["1"],
        "claims": [claim(name, where) for name, where in wheres.items()],
        "figures": [{"experiment": "1", "name": name, "caption": "C."} for name in figures],
    }
    page = figures_page(summary, "A paper", {"1": "one"}, "pictures", "verdicts.md")
    parts = {part.split("\n")[0]: part for part in page.split("\n### ")}
    found = {of: list(rows(part)) for of, part in parts.items() if rows(part)}
    assert found == {
        "Figure 4": ["whole", "part", "range"],
        "Figure 7": ["first-drawn"],
        "Other claims": ["without", "text"],
    }
    assert "(pictures/figure-7-a-packets.svg)" in parts["Figure 7"]
    assert "Also about Figure 7: `range` (at Figure 4)." in parts["Figure 7"]
    assert "| It / rises. (`text`) | Text | 1 | 2 | not decided, 2 / 1 / 0 |" in page
    assert "quick form" in page


@pytest.mark.parametrize(
    ("figures", "heading"),
    [
        ([], "Claims without a picture"),
        (["Cores 1, DRQ"], "Claims about Cores 1"),
        (["A", "B 2, C", "D"], "Claims about A, B 2 and D"),
        (["A", "Figure 4"], "Other claims"),
    ],
)
def test_claims_that_name_no_figure_say_which_pictures_they_are_about(figures, heading) -> None:
    summary = {
        "quick": True,
        "experiments": ["1"],
        "claims": [claim("text", "Text"), claim("four", "Fig. 4")],
        "figures": [{"experiment": "1", "name": name, "caption": "C."} for name in figures],
    }
    page = figures_page(summary, "A paper", {"1": "one"}, "pictures", "verdicts.md")
    assert "text" in rows(page.split(f"### {heading}\n")[1])


def test_the_rows_of_the_summary_are_those_of_the_pages_of_figures() -> None:
    summary = (PAGES / "README.md").read_text(encoding="utf-8")
    pages = [(PAGES / "figures" / f"{key}.md").read_text(encoding="utf-8") for key in PAPERS]
    shown, known = rows(summary), {name: row for page in pages for name, row in rows(page).items()}
    assert len(shown) >= len(PAPERS)
    assert shown == {name: known[name] for name in shown}
    assert len(IMAGE.findall(summary)) == len(PAPERS)
    aged = re.sub(r"(\(`exp2-utilization-avq`\) \|).*", r"\1 old |", summary)
    assert aged != summary
    assert with_rows_of("\n".join(pages), aged) == summary


def test_thinning_keeps_peaks_words_and_colours() -> None:
    times = np.linspace(0, 100, 5000)
    values = np.random.default_rng(1).uniform(-1, 1, (1, 5000))
    values[0, 1234], values[0, 2345] = 5.0, -5.0
    whole = svg(timeseries([Curve(times, values, "w = 0.25")], "Rate at 1.005 of C"))
    thin = thinned(whole)
    assert len(thin) < len(whole) / 2

    def seen(picture: str) -> tuple[list[str], set[str], float, float]:
        root = ET.fromstring(picture)
        words = ["".join(each.itertext()).strip() for each in root.iter() if "text" in each.tag]
        curve = max(re.findall(r' d="([^"]*)"', picture), key=len)
        heights = [float(y) for y in re.findall(r"[ML] \S+ (\S+)", curve)]
        styles = set(re.findall(r"stroke[a-z-]*: [^;<\"]+", picture))
        return words, styles, min(heights), max(heights)

    words, styles, *heights = seen(whole)
    assert any("1.005" in each for each in words)
    assert seen(thin)[:2] == (words, styles)
    assert seen(thin)[2:] == pytest.approx(heights, abs=0.1)
