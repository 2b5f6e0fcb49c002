"""What commands about the fluid model of a scenario are given: the equation for TCP, a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, get_args

import typer

from marqueue.cli.console import print_json
from marqueue.scenario import Scenario, load
from marqueue.theory.fluid.from_scenario import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SourceName = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="|".join(get_args(Source)),
        help="The equation for TCP: of Misra, Gong and Towsley, whose round trips grow with "
        "queues, as published or with marks at the peak of a sawtooth; of the AVQ paper or of "
        "the DRQ paper, whose round trips are constant.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw it, as SVG or PNG.", show_default=False),
]


class Solved(Protocol):
    """What a model found."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""


Found = TypeVar("Found", bound=Solved)


def answer(
    solve: Callable[[Scenario, Source], Found],
    show: Callable[[Found], None],
    draw: Callable[[Found], Figure],
    file: Path,
    set_: list[str] | None,
    source: str,
    plot: Path | None,
    json: bool,
) -> None:
    """Solves a scenario, and gives what was found as asked."""
    known = source_of(source)
    check_plot(plot)
    found = solve(load(file, set_ or []), known)
    if plot is not None:
        # Matplotlib takes longer to load than a model to solve.
        from marqueue.plots.figure_file import write_figure

        write_figure(draw(found), plot)
    if json:
        print_json(found.to_dict())
    else:
        show(found)


def source_of(name: str) -> Source:
    """The equation of this name; raises BadParameter."""
    known: dict[str, Source] = {each: each for each in get_args(Source)}
    if name not in known:
        expected = f"expected one of {', '.join(known)}"
        raise typer.BadParameter(f"got {name!r}, {expected}", param_hint="--source")
    return known[name]


def check_plot(file: Path | None) -> None:
    """Tells before the work, rather than after it, that a figure has no such form."""
    if file is not None and file.suffix not in (".svg", ".png"):
        raise typer.BadParameter(
            f"got '{file}', expected FILE.svg or FILE.png", param_hint="--plot"
        )
