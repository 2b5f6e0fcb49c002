"""Stores measurements in docs/performance/NAME.json and their tables in docs/performance.md or a
page of docs/performance.

A table in a page is between the comments ``<!-- NAME -->`` and ``<!-- end NAME -->`` and must not
be edited by hand.
"""

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
FOLDER = PAGE.with_suffix("")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def spread(values: Sequence[float], digits: int) -> str:
    """Minimum, median and maximum."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{low:.{digits}f} / {middle:.{digits}f} / {high:.{digits}f}"


def record(name: str, measured: object, text: str) -> None:
    """Keeps what was measured, prints its table and puts it into the page."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n")
    pages = [PAGE, *sorted(FOLDER.glob("*.md"))]
    places = [page for page in pages if _begin(name) in page.read_text()]
    if len(places) != 1:
        raise ValueError(f"{len(places)} pages of docs/performance have a place for {name}")
    insert(places[0], name, text)


def _begin(name: str) -> str:
    return f"<!-- {name} -->\n"


def insert(place: Path, name: str, text: str) -> None:
    """Prints a table and puts it into a page, at the place of this name."""
    print(text)
    begin, end = _begin(name), f"<!-- end {name} -->"
    page, found = re.subn(
        f"(?s){re.escape(begin)}.*?{re.escape(end)}",
        lambda _: f"{begin}\n{text}\n\n{end}",
        place.read_text(),
    )
    if found != 1:
        raise ValueError(f"{place.name} has {found} places for {name}, expected one")
    place.write_text(page)
