"""What the command loads before it does anything: as little as it needs."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from marqueue.cli import app

# Not pydantic: typer itself brings it, to read what is given.
HEAVY = {
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "scipy",
}

PROGRAM = """
import sys
from marqueue.cli import command
from marqueue.cli.process import run_to_end
code = run_to_end(command)
assert code == 0, code
sys.stderr.write("\\n" + " ".join(sys.modules))
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that are there after the command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["theory", "--help"]])
def test_help_loads_nothing_that_runs_or_draws(arguments: list[str]) -> None:
    there = loaded(*arguments)
    assert "typer" in there
    assert not HEAVY & there


def test_help_of_a_command_loads_neither_drawing_nor_scipy() -> None:
    assert not {"matplotlib", "scipy", "polars", "jinja2"} & loaded("run", "--help")


@pytest.mark.parametrize(
    "asked",
    [
        "import importlib.metadata; metadata = importlib.metadata",
        "import importlib.metadata as metadata",
        "from importlib import metadata",
    ],
)
def test_the_metadata_of_packages_are_there_once_something_asks_for_them(asked: str) -> None:
    program = f"""
from marqueue.light_start import start_light
start_light()
{asked}
from importlib.metadata import entry_points
assert issubclass(metadata.PackageNotFoundError, ImportError)
print(metadata.version("numpy"), len(entry_points(group="console_scripts")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    version, scripts = done.stdout.split()
    assert version == metadata.version("numpy")
    assert int(scripts) > 0


def test_the_end_of_a_command_loses_no_output_and_no_exit_handler() -> None:
    program = """
import atexit
from marqueue.cli import main
atexit.register(print, "handled", end="")
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True
    )
    version, handled = done.stdout.splitlines()
    assert version.startswith("marqueue ")
    assert handled == "handled"


FOR_PRINT = {"matplotlib", "scipy", "polars", "pandas"}
"""What only figures for print, models and data frames need."""


ONLY_FOR_SOME = {
    "email",
    "marqueue.kernels",
    "marqueue.scenario.network_file.expansion",
    "marqueue.simulation.warmup",
    "numpy.typing",
    "zipfile",
}
"""What only kernels, networks in files, pilots and lists of installed packages need."""


def test_a_run_and_its_comparison_load_nothing_that_draws(small_file: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    there = loaded("run", str(small_file), "--replications", "1", "--out", out)
    assert {"pyarrow", "jinja2"} <= there
    assert not FOR_PRINT & there
    there = loaded("compare", out, out, "--out", str(tmp_path / "both.html"))
    assert "jinja2" in there
    assert not FOR_PRINT & there


def test_a_sweep_loads_nothing_that_draws(small_file: Path, tmp_path: Path) -> None:
    over = ["--over", "traffic.long.count=2,3", "--replications", "1"]
    there = loaded("sweep", str(small_file), *over, "--out", str(tmp_path / "out"))
    assert {"pyarrow", "jinja2"} <= there
    assert not FOR_PRINT & there


def test_a_run_without_a_report_loads_no_pages(small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    there = loaded("run", str(small_file), "--no-report", "--replications", "1", "--out", str(out))
    assert not {*FOR_PRINT, "jinja2"} & there
    assert not ONLY_FOR_SOME & there
    assert (out / "summary.json").exists()
    assert not (out / "report.html").exists()


def test_the_checks_of_validate_load_scipy_and_matplotlib_only_when_they_run() -> None:
    assert not FOR_PRINT & loaded("validate", "--help")


def commands(group: TyperGroup, context: typer.Context) -> Iterator[tuple[str, str, str]]:
    """Of each command below a group: its name, what a list says of it, and what its help says."""
    for name in group.list_commands(context):
        listed = group.get_command(context, name)
        assert listed is not None
        text = listed.help or ""
        _, loaded, _ = group.resolve_command(context, [name])
        assert loaded is not None
        yield name, text, loaded.help or ""
        if isinstance(loaded, TyperGroup):
            yield from commands(loaded, typer.Context(loaded, parent=context, info_name=name))


def test_a_list_says_of_each_command_what_its_own_help_says() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    every = list(commands(root, typer.Context(root, info_name="marqueue")))
    assert {"run", "aqm", "list", "theory", "fluid", "mkc", "stability", "phases"} <= {
        name for name, _, _ in every
    }
    for name, listed, own in every:
        assert listed, name
        assert listed == own, name


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, marqueue; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    there = set(done.stdout.split())
    assert "marqueue.simulation.run" in there
    assert not {*HEAVY, "pydantic", "typer"} & there
