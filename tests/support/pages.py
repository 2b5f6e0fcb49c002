"""The pages of the documentation as Markdown: their blocks of code, links and headings."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@dataclass(frozen=True)
class Block:
    """A block of code."""

    page: Path
    line: int
    """Of its first line, from 1."""
    language: str
    """Empty if it has none."""
    mark: str
    """What follows the language: how the block is checked."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Link:
    """A link or an image that is no address on the web."""

    page: Path
    line: int
    target: str


def cells(notebook: Path) -> Iterator[Block]:
    """The cells of code of a notebook; the line is the number of the cell."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for number, cell in enumerate(content["cells"], 1):
        if cell["cell_type"] == "code":
            yield Block(notebook, number, "python", "", "".join(cell["source"]))


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    """Its blocks of code, those without a fence too."""
    for token in _tokens(page):
        if token.type in ("fence", "code_block"):
            assert token.map
            language, _, mark = token.info.strip().partition(" ")
            yield Block(page, token.map[0] + 1, language, mark, token.content)


def links(page: Path) -> Iterator[Link]:
    """Its links into the repository."""
    line = 0
    for token in _tokens(page):
        line = token.map[0] + 1 if token.map else line
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if target and not re.match(r"[a-z]+:", str(target)):
                yield Link(page, line, str(target))


@cache
def anchors(page: Path) -> set[str]:
    """What links to a page can have behind the #: its headings, as GitHub names them."""
    found: set[str] = set()
    tokens = _tokens(page)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            words = "".join(each.content for each in inside.children or ())
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            same = 0
            while (name := f"{slug}-{same}" if same else slug) in found:
                same += 1
            found.add(name)
    return found


def merged(base: dict[str, object], over: dict[str, object]) -> dict[str, object]:
    """A scenario with another one over it. A table of another kind takes the place of its own."""
    out = dict(base)
    for key, value in over.items():
        own = out.get(key)
        if isinstance(own, dict) and isinstance(value, dict):
            same = value.get("kind") in (None, own.get("kind"))
            out[key] = merged(own, value) if same else value
        else:
            out[key] = value
    return out


def scenarios_of(block: Block) -> Iterator[dict[str, object]]:
    """The scenario of a block; of a fragment that of an example with the fragment over it.

    A key that stands several times in a fragment is an alternative each time.
    """
    words = block.mark.split()
    if words[:1] != ["fragment"]:
        yield tomllib.loads(block.text)
        return
    example = words[2] if words[1:2] == ["of"] else "first"
    text = (ROOT / "scenarios" / f"{example}.toml").read_text(encoding="utf-8")
    for own in _alternatives(block.text):
        yield merged(tomllib.loads(text), tomllib.loads(own))


def _alternatives(text: str) -> Iterator[str]:
    """The text with the first line of each key, with the second where there is one, and so on."""
    lines, places = text.splitlines(), dict[tuple[int, str], list[int]]()
    table = 0
    for i, line in enumerate(lines):
        if line.startswith("["):
            table = i
        elif found := re.match(r"[\w-]+(?= *=)", line):
            places.setdefault((table, found[0]), []).append(i)
    for n in range(max(map(len, places.values()), default=1)):
        left_out = {i for each in places.values() for i in each if i != each[min(n, len(each) - 1)]}
        yield "\n".join(line for i, line in enumerate(lines) if i not in left_out)
