"""What runs without the packages that only some of the work needs, and what is said of the rest."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from marqueue.extras import EXTRAS, LARGE
from small_scenario import SMALL

ROOT = Path(__file__).parents[2]
OPTIONAL = {"matplotlib", "mpl_toolkits", "pandas", "polars", "scipy"}

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of installed packages in which those are missing that extras bring."""
    [installed] = {Path(p) for p in sys.path if Path(p, "pyarrow").is_dir()}
    here = tmp_path_factory.mktemp("core")
    for package in installed.iterdir():
        if package.name not in OPTIONAL:
            (here / package.name).symlink_to(package)
    return here


@pytest.fixture
def bare(core: Path, tmp_path: Path) -> Command:
    """Runs Python in an empty directory, with these packages alone."""
    (tmp_path / "small.toml").write_text(SMALL)
    paths = f"{ROOT / 'python'}:{core}"

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-S", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": paths, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_messages_know_the_extras_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        extra: tuple(re.split(r"\W", requirement)[0] for requirement in requirements)
        for extra, requirements in project["optional-dependencies"].items()
        if extra != "all"
    }
    assert extras == EXTRAS
    small = [packages for extra, packages in extras.items() if extra not in LARGE]
    everything = {package for packages in small for package in packages}
    [names] = project["optional-dependencies"]["all"]
    taken = re.fullmatch(r"marqueue\[(.+)\]", names)
    assert taken
    assert {package for extra in taken[1].split(",") for package in extras[extra]} == everything
    needed = {re.split(r"\W", each)[0] for each in project["dependencies"]}
    assert not needed & everything


def test_a_run_and_a_comparison_with_their_reports_need_no_extra(
    bare: Command, tmp_path: Path
) -> None:
    done = bare("-m", "marqueue", "run", "small.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "Report: out/report.html" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "summary.json", "flows.parquet", "provenance.json"} <= names
    both = bare("-m", "marqueue", "compare", "out", "out", "--figure", "jain", "-o", "both.html")
    assert both.returncode == 0, both.stderr
    assert (tmp_path / "both.html").exists()


def test_a_sweep_with_its_report_needs_no_extra(bare: Command, tmp_path: Path) -> None:
    over = ["--over", "traffic.long.count=2,3", "-r", "2", "--out", "out"]
    done = bare("-m", "marqueue", "sweep", "small.toml", *over)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "summary.json", "figures.csv", "figures.parquet"} <= names


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        (["theory", "fluid", "small.toml"], "matplotlib and scipy", "theory"),
        (["theory", "buffer", "--capacity", "1 Mbit/s"], "matplotlib and scipy", "theory"),
        (["design", "avq"], "matplotlib and scipy", "theory"),
        (["validate", "--quick"], "matplotlib and scipy", "theory"),
        (["run", "small.toml", "--theory"], "matplotlib and scipy", "theory"),
        (["paper", "run", "avq", "1"], "matplotlib, polars and scipy", "papers"),
        (["plot", "out", "--out", "queue.pdf"], "matplotlib", "plots"),
    ],
)
def test_a_command_that_needs_an_extra_says_which_and_does_nothing(
    bare: Command, tmp_path: Path, command: list[str], missing: str, extra: str
) -> None:
    done = bare("-m", "marqueue", *command)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"needs {missing}: pip install 'marqueue[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["theory", "--help"],
        ["aqm", "list"],
        ["schema"],
        ["paper", "list"],
        *([name, "--help"] for name in ("run", "sweep", "compare", "live", "link", "attach")),
    ],
)
def test_help_and_lists_need_no_extra(bare: Command, command: list[str]) -> None:
    done = bare("-m", "marqueue", *command)
    assert done.returncode == 0, done.stderr


SCRIPT = """
import json
import marqueue
result = marqueue.run(marqueue.load("small.toml", {overrides}))
said = {{}}
for name, use in {{
    "plot": lambda: __import__("marqueue.plots"),
    "pandas": lambda: result.to_pandas("figures"),
    "polars": lambda: result.to_polars("figures"),
    "theory": lambda: result.add_theory(),
}}.items():
    try:
        use()
    except marqueue.MissingExtra as error:
        assert isinstance(error, ImportError)
        said[name] = str(error)
print(json.dumps([said, result.figures().num_rows, result.summary().get("optimum")]))
"""


def test_results_say_what_they_need(bare: Command) -> None:
    done = bare("-c", SCRIPT.format(overrides=[]))
    assert done.returncode == 0, done.stderr
    said, rows, _ = json.loads(done.stdout)
    assert said == {
        "plot": "A figure needs matplotlib: pip install 'marqueue[plots]'",
        "pandas": "A pandas data frame needs pandas: pip install 'marqueue[pandas]'",
        "polars": "A Polars data frame needs polars: pip install 'marqueue[polars]'",
        "theory": "The fluid model needs matplotlib and scipy: pip install 'marqueue[theory]'",
    }
    assert rows > 100


def test_a_scenario_with_a_cpu_runs_without_its_optimum(bare: Command) -> None:
    cpu = 'topology.bottleneck.cpu={clock="25 Mcycles/s", buffer="50 packets"}'
    overrides = [cpu, "traffic.long.processing=2 cycles/bit"]
    done = bare("-c", SCRIPT.format(overrides=overrides))
    assert done.returncode == 0, done.stderr
    optimum = json.loads(done.stdout)[2]
    assert "pip install 'marqueue[theory]'" in optimum["outside"]
