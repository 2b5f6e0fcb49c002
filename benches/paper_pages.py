"""The pages of docs/papers from results of `marqueue paper run`.

    python benches/paper_pages.py results/paper-avq results/paper-mkc results/paper-mkc-readings

Writes docs/papers/KEY.md (verdicts and ledger), docs/papers/figures/KEY.md (each figure beside what
the paper says of it) and its pictures, docs/papers/figures/KEY/*.svg; claims that the summary,
docs/papers/README.md, shows get the new numbers. Pictures are thinned: they
are looked at on a page, and the data behind them is in the result. A result with `--readings all`
becomes docs/papers/readings/KEY.md (verdicts under each reading). `make papers` runs all five.
"""

import json
import re
import shutil
import sys
from itertools import groupby
from pathlib import Path

from marqueue.papers import PAPERS
from marqueue.papers.figures_page import figures_page
from marqueue.papers.page import LEFT_OPEN
from marqueue.papers.readings import ALL
from marqueue.papers.readings_page import readings_page

HERE = Path("docs/papers")
#: Longest curve that is kept as it is, points, and the width of a column of others, pt.
SHORT, COLUMN = 150, 2.0
#: A row of a table about a claim, and the claim's id.
ROW = re.compile(r"^\| .*\(`([a-z0-9-]+)`\) \|.*$", re.MULTILINE)
POINT = re.compile(r"([ML]) (\S+) (\S+)")


def main(results: list[Path]) -> None:
    """Writes the pages and pictures of each result."""
    for result in results:
        summary = json.loads((result / "summary.json").read_text())
        key = summary["paper"]
        paper, pictures = PAPERS[key], HERE / "figures" / key
        if summary["readings"] == ALL:
            page = readings_page(summary, paper, f"../{key}.md")
            (HERE / "readings" / f"{key}.md").write_text(page, encoding="utf-8")
            continue
        verdicts = with_link((result / "ledger.md").read_text(encoding="utf-8"), key)
        (HERE / f"{key}.md").write_text(verdicts, encoding="utf-8")
        page = figures_page(summary, paper.title, paper.experiments, key, f"../{key}.md")
        pictures.with_suffix(".md").parent.mkdir(exist_ok=True)
        pictures.with_suffix(".md").write_text(page, encoding="utf-8")
        shutil.rmtree(pictures, ignore_errors=True)
        pictures.mkdir()
        for file in (result / "figures").glob("*.svg"):
            (pictures / file.name).write_text(thinned(file.read_text()), encoding="utf-8")
        overview = HERE / "README.md"
        overview.write_text(with_rows_of(page, overview.read_text()), encoding="utf-8")


def with_link(page: str, key: str) -> str:
    """The page of verdicts with a link to the verdicts under each reading."""
    head = f"## {LEFT_OPEN}\n"
    link = f"Verdicts under each alternative: [{key} under each reading](readings/{key}.md)."
    return page.replace(head, f"{head}\n{link}\n", 1)


def with_rows_of(page: str, text: str) -> str:
    """The text, its rows about claims being those of the page if that has them."""
    rows = {row[1]: row[0] for row in ROW.finditer(page)}
    return ROW.sub(lambda row: rows.get(row[1], row[0]), text)


def thinned(svg: str) -> str:
    """The picture with fewer points, tenths of a point, no metadata, and a white background."""
    svg = re.sub(r"<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' d="([^"]*)"', lambda path: f' d="{_curve(path[1])}"', svg)
    svg = re.sub(r' (?:d|x|y)="[^"]*"', lambda of: re.sub(r"(\.\d)\d+", r"\1", of[0]), svg)
    used = set(re.findall(r"#([A-Za-z]\w*)", svg))
    svg = re.sub(r'\sid="([\w.]+)"', lambda of: of[0] if of[1] in used else "", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    svg = re.sub(r">\s+<", ">\n<", svg)
    return svg.replace("<svg ", '<svg style="background: white" ', 1)


def _curve(path: str) -> str:
    """A long curve keeps the least and the greatest value of each column."""
    points = POINT.findall(path)
    other = POINT.sub("", path).strip()
    if len(points) <= SHORT or other not in ("", "z"):
        return " ".join(path.split())
    kept = []
    for _, column in groupby(points[1:], lambda point: float(point[1]) // COLUMN):
        every = list(column)
        ends = {min(every, key=lambda p: float(p[2])), max(every, key=lambda p: float(p[2]))}
        ends |= {each for each in every if each[0] == "M"}
        kept += sorted(ends, key=every.index)
    return " ".join(" ".join(point) for point in [points[0], *kept]) + f" {other}".rstrip()


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
