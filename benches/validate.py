"""Dumbbells that the papers do not have, on ns-2 and here, side by side.

python -m benches.validate [PART OF A NAME]
"""

import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from marqueue.validate import ns2
from marqueue.validate.ns2.matrix import MATRIX
from marqueue.validate.ns2.side import Side, ours, theirs


def row(side: Side) -> list[str]:
    """The figures as text."""
    return [f"{side.utilization:.4f}", f"{side.queue:.2f}", f"{side.loss:.5f}", f"{side.marks:.0f}"]


def main(part: str = "") -> int:
    """Prints the table; the number of windows that disagree."""
    ns2.install()
    table = Table("case", "window", "", "utilization", "queue", "loss", "marks", "disagrees in")
    differ = 0
    console = Console(width=None if sys.stdout.isatty() else 160)
    cases = [case for case in MATRIX if part in case.name]
    for case in track(cases, console=Console(stderr=True)):
        # The first window is the start-up.
        for here, there in list(zip(ours(case), theirs(case), strict=True))[1:]:
            wrong = here.disagreements(there)
            differ += bool(wrong)
            what = ", ".join(each.split(":")[0] for each in wrong)
            table.add_row(case.name, here.span, "here", *row(here), what)
            table.add_row("", "", "ns-2", *row(there))
    console.print(table)
    console.print(f"{differ} of {len(table.rows) // 2} windows disagree")
    return differ


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
