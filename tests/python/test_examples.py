"""The commands that README and docs show are commands that there are."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from marqueue.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> list[list[str]]:
    """What stands in blocks of code behind ``marqueue``, one entry a command."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = (block.splitlines() for block in re.split(r"\n\s*\n", text))
    code = [line for block in blocks if all(b.startswith("    ") for b in block) for line in block]
    shown = [found[1] for line in code if (found := re.match(r" +(?:sudo )?marqueue +(.+)", line))]
    # Of a pipe or a list of commands the first.
    return [shlex.split(re.split(r" [|>&;]+ |\.\.\.", line)[0], comments=True) for line in shown]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda p: p.stem)
def test_every_command_shown_is_understood(page: Path) -> None:
    group = typer.main.get_command(app)
    for arguments in commands(page):
        command, rest, context = group, arguments, None
        while True:
            # Raises UsageError with the command or the option that there is not.
            context = command.make_context("marqueue", list(rest), context)
            rest = [*getattr(context, "_protected_args", ()), *context.args]
            if not (rest and hasattr(command, "resolve_command")):
                break
            _, command, rest = command.resolve_command(context, rest)
        named = [a for a in arguments if re.match(r"(scenarios|examples)/.*\.toml$", a)]
        assert all((ROOT / name).is_file() for name in named), named


def test_commands_are_found() -> None:
    assert ["run", "scenarios/dumbbell.toml"] in commands(ROOT / "README.md")
    assert sum(len(commands(page)) for page in PAGES) > 30
