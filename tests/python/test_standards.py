"""The clause tables of docs/standards: rows are complete, and what they and citations name exists.

`python tests/python/test_standards.py --counts` prints the table of counts for
docs/standards/README.md.
"""

import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/standards").glob("rfc*.md"))
SECTIONS = ROOT / "docs/standards/sections.toml"
HEADER = ["Clause", "It asks", "Status", "Here", "Shown by"]
ITEM_NAME = re.compile(r"\w+(?:::\w+)*")
STATUSES = ["conforms", "choice", "departs", "not modelled"]
SOURCES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
SOURCES += ["crates", "python", "docs", "tests", "fuzz", "examples", "scenarios", "benches"]
UNREAD = (SECTIONS, Path(__file__).resolve())
SUFFIXES = {".rs", ".c", ".h", ".py", ".md", ".toml", ".jsonl"}

LISTED = tomllib.loads(SECTIONS.read_text(encoding="utf-8"))
RFCS = {int(number): entry for number, entry in LISTED.items()}


@dataclass(frozen=True)
class Row:
    """A row of a clause table."""

    page: str
    line: int
    clause: str
    asks: str
    status: str
    here: str
    shown: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}, {self.clause}"


def cells(line: str) -> list[str]:
    """The cells of a line of a table; `\\|` is no border."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def rows_of(page: Path) -> list[Row]:
    rows, inside = [], False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("|"):
            inside = False
        elif cells(line) == HEADER:
            inside = True
        elif inside and not re.fullmatch(r"[|\s:-]+", line):
            values = cells(line)
            assert len(values) == len(HEADER), f"{page.name}:{number}: {len(values)} cells"
            rows.append(Row(page.name, number, *values))
    return rows


ROWS = {page.name: rows_of(page) for page in PAGES}
each_page = pytest.mark.parametrize("page", ROWS)


def code(cell: str) -> list[str]:
    """What a cell has between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def is_path(text: str) -> bool:
    return re.fullmatch(r"[\w.-]+(/[\w.-]+)+", text) is not None


def named_tests(row: Row) -> list[tuple[str, str]]:
    """The tests that a row names: file, and name with its classes or modules."""
    named = (re.fullmatch(r"([\w./-]+/[\w.-]+)::([\w:]+)", text) for text in code(row.shown))
    return [(match[1], match[2]) for match in named if match]


@functools.cache
def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None


def defines(path: str, name: str) -> bool:
    """Does a file define a test? Of its classes or modules each must exist, too."""
    word = {".rs": ("mod", "fn"), ".py": ("class", "def")}.get(Path(path).suffix)
    if word is None or not (ROOT / path).is_file():
        return False
    *outer, test = name.split("::")
    wanted = [(word[0], each) for each in outer] + [(word[1], test)]
    return all(has_word(text_of(path), f"{kind} {each}") for kind, each in wanted)


def problems(page: str, problem_of: Callable[[Row], str | None]) -> list[str]:
    """What is wrong with the rows of a page, each with its place."""
    found = [(row, problem_of(row)) for row in ROWS[page]]
    return [f"{row}: {problem}" for row, problem in found if problem]


@each_page
def test_a_row_has_one_of_four_statuses_and_its_cells(page: str) -> None:
    def problem(row: Row) -> str | None:
        if row.status not in STATUSES:
            return f"got status {row.status!r}, expected one of {STATUSES}"
        return None if row.clause and row.asks else "an empty cell"

    assert ROWS[page], "a page without a table"
    assert problems(page, problem) == []


@each_page
def test_the_code_of_a_row_exists(page: str) -> None:
    def problem(row: Row) -> str | None:
        paths = [text for text in code(row.here) if is_path(text)]
        if row.status == "not modelled":
            return None if row.here in ("-", "–", "—") else "expected a dash: it is nowhere"
        if not paths:
            return "expected a file"
        items = [text.split("::")[-1] for text in code(row.here) if ITEM_NAME.fullmatch(text)]
        missing = [path for path in paths if not (ROOT / path).is_file()]
        texts = [text_of(path) for path in paths if path not in missing]
        missing += [item for item in items if not any(has_word(text, item) for text in texts)]
        return f"there is no {', '.join(missing)}" if missing else None

    assert problems(page, problem) == []


@each_page
def test_the_tests_of_a_row_exist(page: str) -> None:
    def problem(row: Row) -> str | None:
        missing = [f"{path}::{name}" for path, name in named_tests(row) if not defines(path, name)]
        if missing:
            return f"there is no {', '.join(missing)}"
        expected = row.status in ("conforms", "choice")
        return "expected a test" if expected and not named_tests(row) else None

    assert problems(page, problem) == []


@each_page
def test_what_departs_or_is_not_modelled_has_a_reason(page: str) -> None:
    def problem(row: Row) -> str | None:
        reason = re.sub(r"`[^`]*`", "", row.shown).split()
        expected = row.status in ("departs", "not modelled")
        return "expected a reason" if expected and len(reason) < 3 else None

    assert problems(page, problem) == []


@each_page
def test_the_clause_of_a_row_is_a_section(page: str) -> None:
    def problem(row: Row) -> str | None:
        known = RFCS[rfc_of(page)]["sections"]
        named = clauses_in(row)
        wrong = [section for section in named if section not in known]
        return f"got {row.clause!r}, expected sections first" if wrong or not named else None

    assert problems(page, problem) == []


def counts() -> dict[int, list[int]]:
    """By RFC, how many rows have each status."""
    found = {rfc_of(page): Counter(row.status for row in rows) for page, rows in ROWS.items()}
    return {rfc: [found[rfc][status] for status in STATUSES] for rfc in sorted(found)}


def rfc_of(page: str) -> int:
    return int(re.findall(r"\d+", page)[0])


def table_of_counts() -> str:
    lines = [f"| RFC | Title | {' | '.join(STATUSES)} |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
    for rfc, numbers in counts().items():
        link = f"[{rfc}](rfc{rfc}.md)"
        lines.append(f"| {link} | {RFCS[rfc]['title']} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def test_the_readme_counts_the_rows() -> None:
    readme = (ROOT / "docs/standards/README.md").read_text(encoding="utf-8")
    assert table_of_counts() in readme, "run python tests/python/test_standards.py --counts"


# A citation: "RFC 8290, section 5.2.4", "RFC 9438, 4.2, 4.6 and 5.8", "RFC 8033, 4.2; appendix B".
NUMBER = r"[1-9]\d*(?:\.\d+)*(?![\w/%])"
LETTER = r"[A-Z](?:\.\d+)*\b"
REMARK = r"(?:\s\([^()]*\))?"
KEYWORD = r"(?:sections?|appendix|appendices)\s"
ITEM = rf"(?:{KEYWORD})?(?:{NUMBER}|{LETTER}){REMARK}"
LIST = rf"{ITEM}(?:(?:, and|[,;]| and| to| or)\s{ITEM})*"
AFTER = re.compile(rf"RFC (\d+)(?:'s)?(?:[,:;]\s|\s(?={KEYWORD}))({LIST})", re.IGNORECASE)
BEFORE = re.compile(rf"({KEYWORD}{LIST}) of RFC (\d+)", re.IGNORECASE)


def sections_in(text: str) -> Iterator[str]:
    """The sections that a list names. Letters count after "appendix" only, years do not."""
    appendix = False
    text = re.sub(r"\([^()]*\)", "", text)
    for word in re.findall(r"[\w.]*\w", text):
        if word.lower() in ("appendix", "appendices", "section", "sections"):
            appendix = word.lower().startswith("append")
        elif re.fullmatch(r"[A-Z](\.\d+)*", word):
            if not appendix:
                return
            yield word
        elif re.fullmatch(NUMBER, word) and not (word.isdigit() and int(word) > 99):
            yield word


def citations(text: str) -> Iterator[tuple[int, str]]:
    """The RFCs and sections that a text cites."""
    text = re.sub(r"\s*\n[ \t]*(?://[/!]?|\#|\*)?[ \t]*", " ", text)
    found = [(match[1], match[2]) for match in AFTER.finditer(text)]
    found += [(match[2], match[1]) for match in BEFORE.finditer(text)]
    for rfc, listed in found:
        for section in sections_in(listed):
            yield int(rfc), section


def sources() -> Iterator[Path]:
    for name in SOURCES:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in SUFFIXES and file.is_file() and file not in UNREAD:
                yield file


@functools.cache
def cited() -> list[tuple[str, int, str]]:
    found = []
    for file in sources():
        text = file.read_text(encoding="utf-8")
        found += [(str(file.relative_to(ROOT)), *each) for each in citations(text)]
    return found


def test_citations_are_found() -> None:
    text = """// see RFC 8290, section 5.2.4; RFC 9438, 4.2, 4.6 and 5.8; RFC
    // 8033: sections 4.1 (dropping), 4.2 and appendix B. RFC 8289, 2018. RFC 6298, G. Section 3.3
    // of RFC 8257; RFC 7323, 4.1 and appendix G: RFC 5681, 3.2, step 4; RFC 3042, 3168, 5681"""
    assert list(citations(text)) == [
        (8290, "5.2.4"),
        *[(9438, section) for section in ("4.2", "4.6", "5.8")],
        *[(8033, section) for section in ("4.1", "4.2", "B")],
        *[(7323, section) for section in ("4.1", "G")],
        (5681, "3.2"),
        (8257, "3.3"),
    ]


def test_every_rfc_that_is_cited_is_listed() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in sources()}
    numbers = {int(n) for text in texts.values() for n in re.findall(r"RFC (\d+)", text)}
    assert numbers - set(RFCS) == set()


def test_every_citation_names_a_section_that_exists() -> None:
    assert len(cited()) > 100
    wrong = [
        f"{file}: RFC {rfc} has no section {section}"
        for file, rfc, section in cited()
        if section not in RFCS.get(rfc, {}).get("sections", {})
    ]
    assert wrong == []


def clauses_in(row: Row) -> list[str]:
    """The sections that the first cell of a row begins with."""
    listed = re.match(rf"(?:{LIST})?", row.clause, re.IGNORECASE)
    assert listed is not None
    return list(sections_in(listed[0]))


if __name__ == "__main__":
    assert sys.argv[1:] == ["--counts"], "expected --counts"
    print(table_of_counts())
