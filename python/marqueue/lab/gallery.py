"""The scenarios that the lab begins with, and their plans, as files beside its pages.

The plans are made when the pages are built: the first picture needs no compiler in the browser.
``make lab`` runs this module: ``python -m marqueue.lab.gallery DIR``.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from marqueue.scenario import schema
from marqueue.scenario.outline import EXAMPLES, outline

PAPERS = Path(__file__).parents[1] / "papers"

FIRST = (
    "dumbbell-avq",
    "theory",
    "first",
    "access-link",
    "incast",
    "dumbbell",
    "ecn-mix",
    "parking-lot",
)
"""Examples in the order in which the gallery has them; others follow. The first one runs when the
lab is opened."""

LARGEST_PLAN = 2_000_000
"""Bytes of a compiled scenario. A larger one would be a download of its own."""


@dataclass(frozen=True)
class Card:
    """A scenario of the gallery."""

    id: str
    """Unique; the name of the file of its plan."""
    title: str
    about: str
    """One sentence, from the comment at the top of the file."""
    group: str
    """``Examples``, or the paper that it belongs to."""
    toml: str


def cards() -> Iterator[Card]:
    """The examples, and the set-ups of the papers."""
    paths = {path.stem: path for path in sorted(EXAMPLES.glob("*.toml"))}
    for name in [*FIRST, *(name for name in paths if name not in FIRST)]:
        yield _card(name, paths[name], "Examples")
    for paper in sorted(PAPERS.glob("*/paper.toml")):
        title = f"Paper: {tomllib.loads(paper.read_text(encoding='utf-8'))['title']}"
        for path in sorted((paper.parent / "scenarios").glob("*.toml")):
            yield _card(f"{paper.parent.name}-{path.stem}", path, title)


def write(directory: Path) -> list[Card]:
    """Writes the compiled scenario of each card, ``gallery.json`` and the schema of scenarios.

    ``gallery.json`` has the cards and the compiled scenario of the first, so that one request is
    enough to open the lab. Returns the cards. A scenario is left out that does not compile as it
    stands, or that needs a Linux kernel or the QUIC library, which no browser runs.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Card] = []
    first = None
    for card in cards():
        made = outline(card.toml)
        content = json.dumps(made.get("compiled"))
        if made["ok"] and len(content) <= LARGEST_PLAN and not _runs_outside(card.toml):
            (directory / f"{card.id}.json").write_text(content, encoding="utf-8")
            written.append(card)
            first = first or made["compiled"]
    gallery = {"cards": [asdict(card) for card in written], "first": first}
    _write(directory / "gallery.json", gallery)
    _write(directory / "schema.json", schema())
    return written


def _runs_outside(text: str) -> bool:
    table = tomllib.loads(text)
    quic = any(each["kind"] == "quic" for each in table["traffic"])
    return quic or any("stack" in each for each in table.get("transport", {}).values())


def _card(name: str, path: Path, group: str) -> Card:
    text = path.read_text(encoding="utf-8")
    title = str(tomllib.loads(text)["name"])
    return Card(name, title, _about(text), group, text)


def _about(text: str) -> str:
    """The first sentence of the comment at the top."""
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line.lstrip("# "))
    return f"{' '.join(head).split('. ')[0].rstrip('.')}."


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
