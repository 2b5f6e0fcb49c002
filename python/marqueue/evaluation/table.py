"""An evaluation on a terminal: a table of verdicts, and the reasons of the limits below it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from marqueue.evaluation.criterion import Judgement, Verdict
from marqueue.evaluation.evaluating import Evaluation

STYLES: dict[Verdict, str] = {
    "pass": "green",
    "fail": "bold red",
    "not decided": "bold yellow",
    "not applicable": "dim",
    "no model": "dim",
}


def reasons(of: Sequence[Evaluation]) -> dict[str, int]:
    """The reasons of the limits, numbered by first appearance."""
    texts = dict.fromkeys(
        each.because for one in of for outcome in one.outcomes for each in outcome.judgements
    )
    return {text: number for number, text in enumerate(texts, 1)}


def shown_value(each: Judgement) -> str:
    """The value with its interval and unit."""
    if each.value is None:
        return ""
    return f"{each.value}{' ' * bool(each.unit)}{each.unit}"


def evaluation_table(of: Evaluation) -> RenderableType:
    """Every criterion by scenario, the reasons, and the number of each verdict."""
    numbers = reasons([of])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("criterion", "measured", "limit", "verdict"):
        right = column == "measured"
        table.add_column(column, justify="right" if right else "left", no_wrap=right)
    for outcome in of.outcomes:
        title = f"{outcome.case.section} {outcome.case.title} ({outcome.case.name})"
        table.add_row(Text(title, style="bold"))
        for each in outcome.judgements:
            verdict = Text(each.verdict, style=STYLES[each.verdict])
            if each.note:
                verdict.append(f": {each.note}", style="dim")
            limit = f"{each.limit} [{numbers[each.because]}]"
            table.add_row(Text(f"  {each.what}"), Text(shown_value(each)), Text(limit), verdict)
    notes = [
        Text(
            "\nMeasured: mean ± half width of the 95% interval over replications. A criterion "
            "passes "
            "or fails if the whole interval does; otherwise it is not decided. Limits:"
        ),
        *(Text(f"[{number}] {text}") for text, number in numbers.items()),
        *(Text(f"Not in the suite: {each}") for each in of.suite.missing),
        Text(f"\n{of.contender.label}: {of.summary}", style="bold"),
    ]
    return Group(table, *notes)
