"""``marqueue check``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli.console import output, print_json
from marqueue.errors import ResultError
from marqueue.results.integrity import check_directory, read_provenance


def check(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Output directories of marqueue.", show_default=False),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Check every file of a result, a sweep or a reproduced paper against its digest.

    Lists files that are missing, changed or not written by marqueue.

    Example: marqueue check results/dumbbell-under-red

    Exit codes: 0 all files are unchanged, 2 otherwise.
    """
    answers = {}
    for directory in directories:
        try:
            provenance = read_provenance(directory)
            findings = [str(finding) for finding in check_directory(directory)]
        except ResultError as error:
            findings = [str(error)]
            if directory.suffix == ".toml":
                findings.append(f"A scenario is checked by: marqueue run --estimate {directory}")
            what = "not checked"
        else:
            size = sum(each.stat().st_size for each in directory.rglob("*") if each.is_file())
            number = sum(each.is_file() for each in directory.rglob("*"))
            what = (
                f"output of marqueue {provenance['kind']}, version {provenance['version']}: "
                f"{number} files, {size / 1e6:.1f} MB"
            )
        answers[str(directory)] = {"what": what, "findings": findings}
    if json:
        print_json(answers)
    else:
        for name, answer in answers.items():
            verdict = "; all unchanged" if not answer["findings"] else ""
            _print(f"{name}: {answer['what']}{verdict}")
            for finding in answer["findings"]:
                _print(f"  {finding}")
    if any(answer["findings"] for answer in answers.values()):
        raise typer.Exit(2)


def _print(text: str) -> None:
    output.print(text, markup=False, highlight=False, soft_wrap=True)
