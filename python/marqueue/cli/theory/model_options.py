"""Shared options of the fluid commands: the equation for TCP, and a figure."""

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
        help="Equation of TCP: of Misra, Gong and Towsley with queueing delay, as published or "
        "with marks at the peak of the sawtooth; or of the AVQ or the DRQ paper, with constant "
        "round trips.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw the result, as .svg or .png.", show_default=False
    ),
]


class Solved(Protocol):
    """The solution of a model."""

    def to_dict(self) -> dict[str, Any]:
        """The solution, ready for JSON."""


Solution = TypeVar("Solution", bound=Solved)


def answer(
    solve: Callable[[Scenario, Source], Solution],
    show: Callable[[Solution], None],
    draw: Callable[[Solution], Figure],
    file: Path,
    set_: list[str] | None,
    source: str,
    plot: Path | None,
    json: bool,
) -> None:
    """Solves the model of a scenario, and prints, plots or writes the solution."""
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
    """The equation with this name. Raises BadParameter."""
    known: dict[str, Source] = {each: each for each in get_args(Source)}
    if name not in known:
        expected = f"expected one of {', '.join(known)}"
        raise typer.BadParameter(f"got {name!r}, {expected}", param_hint="--source")
    return known[name]


def check_plot(file: Path | None) -> None:
    """Checks the ending of a figure before the work. Raises BadParameter."""
    if file is not None and file.suffix not in (".svg", ".png"):
        raise typer.BadParameter(
            f"got '{file}', expected FILE.svg or FILE.png", param_hint="--plot"
        )
