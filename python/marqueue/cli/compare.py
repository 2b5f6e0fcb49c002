"""``marqueue compare``."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from marqueue.cli import options
from marqueue.cli.console import output, print_json, table
from marqueue.errors import RunError
from marqueue.results import Result
from marqueue.results.comparison import Comparison, congested_in_either
from marqueue.results.comparison import compare as compare_results
from marqueue.results.congested_links import CONGESTION
from marqueue.results.output_file import check_output_file
from marqueue.results.summary import FEW_LINK_COLUMNS, MOST_LINK_COLUMNS


def compare(
    a: Annotated[
        Path, typer.Argument(metavar="DIR_A", help="The result directory A.", show_default=False)
    ],
    b: Annotated[
        Path, typer.Argument(metavar="DIR_B", help="The result directory B.", show_default=False)
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="FIGURE",
            help="A figure to compare (repeatable): delay_p99 of every link, jain of all flows, or "
            "NAME.FIGURE of a link, group or class.",
            show_default="all of links and groups, at most 256 links",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write a report to FILE, which ends in .html.",
            show_default=False,
        ),
    ] = None,
    force: options.ForceFile = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON only.")
    ] = False,
) -> None:
    """Compare two results: the settings that differ, and B − A of every figure of links and groups
    of flows.

    With the same seed and number of replications, replications are compared in pairs with common
    random numbers, which makes intervals narrow. Otherwise the results count as independent.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell.toml --out results/red

    marqueue run scenarios/dumbbell.toml --set topology.bottleneck.aqm=pie --out results/pie

    marqueue compare results/red results/pie --out red-pie.html

    marqueue compare results/red results/pie --figure delay_p99 --figure jain
    """
    if out:
        # Browsers show a page of another name as text.
        if out.suffix != ".html":
            raise RunError(f"{out}: expected a name that ends in .html")
        check_output_file(out, replace=force)
    comparison = compare_results(Result.load(a), Result.load(b), figure or ())
    if not comparison.differences:
        raise RunError(
            f"{a}, {b}: no common figure, expected a link or a group that both results have"
        )
    if out:
        _write(comparison, (str(a), str(b)), out)
    if json:
        print_json(comparison.as_dict())
    else:
        _print(comparison, (a, b), _shown(comparison, few=not figure))
        if out:
            output.print(f"Report: {out}", highlight=False, soft_wrap=True)


def _write(comparison: Comparison, places: Sequence[str], out: Path) -> None:
    from marqueue.reports.comparison_report import comparison_report

    comparison_report(comparison, places).write(out)


def _shown(comparison: Comparison, few: bool) -> Set[str]:
    """The links whose figures are printed: of many only the most congested, if there are to be
    few."""
    links = comparison.by_link().keys()
    if not few or len(links) <= MOST_LINK_COLUMNS:
        return links
    return set(congested_in_either(comparison.a, comparison.b, FEW_LINK_COLUMNS))


def _print(comparison: Comparison, places: Sequence[Path], links: Set[str]) -> None:
    for letter, place, result in zip("AB", places, (comparison.a, comparison.b), strict=True):
        output.print(Text(f"{letter}: {place} ({result.name})"))
    settings = table("setting", "A", "B")
    for each in comparison.settings:
        settings.add_row(Text(each.path), Text(each.a), Text(each.b))
    output.print(settings if comparison.settings else "No setting differs.")
    for subject, differences in comparison.by_subject().items():
        if subject.kind == "link" and subject.name not in links:
            continue
        figures = table(subject.name or str(subject), "A", "B", "B − A", "excludes zero")
        for difference in differences:
            values = map(str, difference.in_unit())
            excludes = {True: "yes", False: "no", None: ""}[difference.excludes_zero]
            figures.add_row(Text(difference.figure.title), *values, excludes)
        output.print()
        output.print(figures)
    output.print()
    said = [comparison.method, *comparison.remarks()]
    if more := len(comparison.by_link().keys() - links):
        said.insert(
            0,
            f"Printed are the {FEW_LINK_COLUMNS} links of A and of B with the {CONGESTION}; --json "
            f"and --out have {more} more.",
        )
    output.print("\n".join(said), highlight=False)
