"""``marqueue new``: a working start of one's own AQM or congestion control."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from marqueue.cli.console import say
from marqueue.errors import MarqueueError, RunError, show

new = typer.Typer(no_args_is_help=True)

TEMPLATES = Path(__file__).parent / "templates"
ALGORITHMS = Path("crates/aqm/src/algo")
"""Where AQMs are in the source tree."""

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Its name, in snake case such as my_aqm.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@new.command("aqm", no_args_is_help=True)
def new_aqm(
    name: Name,
    python: Annotated[
        bool,
        typer.Option(
            "--python/--rust",
            help="A class in Python with a scenario and a test, in this directory; or a file of "
            "the source tree, which is the current directory.",
        ),
    ] = True,
    force: Force = False,
) -> None:
    """Write a working start of an AQM with a test.

    [bold]Examples[/bold]

    marqueue new aqm mine --python && marqueue run mine.toml

    marqueue new aqm mine --rust
    """
    if python:
        _write_python("aqm", name, force)
    else:
        _write_rust(name, force)


@new.command("cc", no_args_is_help=True)
def new_cc(
    name: Name,
    python: Annotated[
        bool,
        typer.Option("--python", help="A class in Python, which is what there is."),
    ] = True,
    force: Force = False,
) -> None:
    """Write a working start of a congestion control with a scenario and a test.

    Example: marqueue new cc mine --python && marqueue run mine.toml
    """
    _write_python("cc", name, force)


def _write_python(kind: str, name: str, force: bool) -> None:
    """Writes the class, its scenario and its test."""
    written = {
        f"{name}.py": _filled(f"{kind}.py", name),
        f"{name}.toml": _filled(f"{kind}.toml", name),
        f"test_{name}.py": _filled(f"{kind}_test.py", name),
    }
    _write(Path(), written, force)
    say(f"Run it: marqueue run {name}.toml; test it: pytest test_{name}.py")


def _write_rust(name: str, force: bool) -> None:
    """Writes the file of an algorithm and its vectors, and says what is left to do."""
    modules = ALGORITHMS / "mod.rs"
    if not modules.is_file():
        raise RunError(f"--rust: {modules} is not here, expected the source tree of marqueue")
    lists = modules.read_text(encoding="utf-8")
    if re.search(rf"^\s+{name}::", lists, re.MULTILINE):
        raise RunError(f"{name}: {modules} has it already, expected another name")
    written = {
        f"src/algo/{name}.rs": _filled("aqm.rs", name),
        f"vectors/{name}.jsonl": _filled("aqm_vectors.jsonl", name),
    }
    _write(ALGORITHMS.parent.parent, written, force)
    say(f"Add this line to the policies in {modules}:\n        {name}::{_type(name)},")
    say("Then: cargo test -p marqueue-aqm. CONTRIBUTING.md has the steps that follow.")


def _filled(template: str, name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise MarqueueError(
            f"NAME: got {show(name)}, expected letters, digits and _ such as my_aqm"
        )
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(name=name, Name=_type(name))


def _type(name: str) -> str:
    """The name of a class: MyAqm for my_aqm."""
    return "".join(part.capitalize() for part in name.split("_"))


def _write(folder: Path, files: Mapping[str, str], force: bool) -> None:
    """Writes all files, or none if one exists and ``force`` is false."""
    from marqueue.results.output_file import check_output_file, write_output_files

    for each in files:
        check_output_file(folder / each, replace=force)
    write_output_files(folder, files)
    say(f"Wrote {_listed(str(folder / each) for each in files)}.")


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}"
