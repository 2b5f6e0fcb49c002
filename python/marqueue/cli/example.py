"""``marqueue example`` and ``marqueue init``: the example scenarios of the package."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import complete
from marqueue.cli.console import output, say, table
from marqueue.cli.example_files import paths
from marqueue.errors import RunError, unknown

FIRST = "first"
"""The example that ``marqueue init`` writes."""

example = typer.Typer(no_args_is_help=True)

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


@example.command("list")
def example_list() -> None:
    """List the examples.

    Example: marqueue example list
    """
    listing = table("name", "description")
    for name, path in paths().items():
        listing.add_row(f"[bold]{name}[/bold]", about(path))
    output.print(listing)
    output.print(
        "\nmarqueue example copy NAME copies one into the current directory.", highlight=False
    )


@example.command("copy", no_args_is_help=True)
def example_copy(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A name of: marqueue example list.",
            autocompletion=complete.examples,
            show_default=False,
        ),
    ],
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The directory to copy it to.", show_default="here"),
    ] = Path(),
    force: Force = False,
) -> None:
    """Copy an example scenario into a directory.

    Example: marqueue example copy access-link && marqueue run access-link.toml
    """
    found = paths().get(name.removesuffix(".toml"))
    if found is None:
        raise RunError(f"example: {unknown(name, paths())}")
    if directory.exists() and not directory.is_dir():
        raise RunError(f"{directory}: is a file, expected a directory")
    directory.mkdir(parents=True, exist_ok=True)
    _write(found, directory / found.name, force)


def init(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The file to write.", show_default="scenario.toml"),
    ] = Path("scenario.toml"),
    force: Force = False,
) -> None:
    """Write a commented scenario that runs as it is and explains what can be changed.

    Example: marqueue init first.toml && marqueue run first.toml
    """
    if file.is_dir():
        file /= "scenario.toml"
    elif not file.suffix:
        file = file.with_suffix(".toml")
    _write(paths()[FIRST], file, force)


def about(path: Path) -> str:
    """The first sentence of the comment at the top of a scenario."""
    head = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        head.append(line.lstrip("# "))
    return " ".join(head).split(". ")[0].rstrip(".") + "."


def _write(source: Path, target: Path, force: bool) -> None:
    """Copies a file. Raises RunError if the target exists and ``force`` is false."""
    # It loads pyarrow, which the list of examples does without.
    from marqueue.results.output_file import check_output_file, write_output_file

    exists = target.exists()
    check_output_file(target, replace=force)
    write_output_file(target, source.read_bytes())
    say(f"{'Replaced' if exists else 'Wrote'} {target}. Run it: marqueue run {target}")
