"""The ladder on a terminal: a table, and the reasons for the tolerances below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from marqueue.validation.check import Check, Verdict
from marqueue.validation.ladder import Ladder

STYLES: dict[Verdict, str] = {
    "pass": "green",
    "fail": "bold red",
    "unclear": "bold yellow",
    "explained": "yellow",
    "unexplained": "yellow",
}
COLUMNS = ("what", "against", "figure", "expected", "tolerance", "verdict")


def reasons(checks: Sequence[Check]) -> dict[str, int]:
    """The reasons for the tolerances, numbered by first appearance."""
    texts = dict.fromkeys(each.because for each in checks)
    return {text: number for number, text in enumerate(texts, 1)}


def cells(check: Check, numbers: dict[str, int]) -> list[str]:
    """A check as a row."""
    unit = f" {check.unit}" if check.unit else ""
    return [
        check.what,
        check.against,
        f"{check.figure}{unit}",
        f"{check.target}{unit}",
        f"{check.tolerated} [{numbers[check.because]}]",
        check.verdict,
    ]


def ladder_table(ladder: Ladder) -> RenderableType:
    """All checks by rung, the notes, and the number of passed checks."""
    numbers = reasons([check for each in ladder.rungs for check in each.checks])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        right = column in ("figure", "expected", "tolerance")
        table.add_column(column, justify="right" if right else "left", no_wrap=right)
    for each in ladder.rungs:
        table.add_row(Text(f"{each.rung.name}: {each.rung.title}", style="bold"))
        if each.skipped:
            table.add_row("", Text(f"skipped: {each.skipped}", style="yellow"))
        for check in each.checks:
            row = cells(check, numbers)
            table.add_row(*map(Text, row[:-1]), Text(row[-1], style=STYLES[check.verdict]))
        table.add_section()
    return Group(table, *_notes(ladder, numbers), Text(f"\n{ladder.summary}", style="bold"))


def _notes(ladder: Ladder, numbers: dict[str, int]) -> Iterator[Text]:
    yield Text(
        "\nFigures and what ns-2 and ns-3 measured: mean ± half width of the confidence interval "
        "over replications. Tolerances:"
    )
    for text, number in numbers.items():
        yield Text(f"[{number}] {text}")
    for each in ladder.rungs:
        for check in each.checks:
            if check.verdict in ("explained", "unexplained"):
                yield Text(f"{check.what}: {check.explained or check.unexplained}")
