"""The command in a report gives the same result again, from the scenario that the report shows."""

import html
import re
import shlex
from pathlib import Path

import pytest

from conftest import EXAMPLES
from small_scenario import SMALL

[PARKING] = [path for path in EXAMPLES if path.stem == "parking-lot"]
BRIEF = ("--set", "duration=41 s", "--set", "sample=1 s")


def command_in(report: Path) -> list[str]:
    """The command that a report shows."""
    [shown] = re.findall(r"marqueue [a-z]+ scenario\.toml[^<]*", report.read_text("utf-8"))
    return shlex.split(html.unescape(shown))[1:]


@pytest.mark.parametrize(
    ("file", "options", "kept"),
    [
        ("small.toml", ["--seed", "7", "--set", "traffic.long.count=3"], ["--seed 7"]),
        ("small.toml", ["--until", "utilization ±20%"], ["--until 'utilization ±20%'"]),
        ("small.toml", ["--max-events", "5000"], ["--max-events 5000"]),
        (str(PARKING), ["--theory", "-r", "2", *BRIEF], ["--theory", "--replications 2"]),
    ],
)
def test_of_a_run(file: str, options: list[str], kept: list[str], marqueue, tmp_path: Path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    codes = [marqueue("run", file, *options, "-o", "first").returncode]
    command = command_in(tmp_path / "first" / "report.html")
    assert all(each in shlex.join(command) for each in kept)
    (tmp_path / "first" / "scenario.toml").rename(tmp_path / "scenario.toml")
    codes.append(marqueue(*command, "-o", "again").returncode)
    assert codes[0] == codes[1]
    first, again = (tmp_path / each for each in ("first", "again"))
    for name in ("summary.json", "report.html"):
        assert (first / name).read_bytes() == (again / name).read_bytes(), name


def test_of_a_sweep(marqueue, tmp_path: Path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    over = ["--over", "topology.bottleneck.buffer=20 packets,50 packets"]
    given = [*over, "--figure", "delay_p99", "--figure", "drops", "--until", "utilization ±20%"]
    assert marqueue("sweep", "small.toml", *given, "--seed", "3", "-o", "first").returncode == 0
    command = command_in(tmp_path / "first" / "report.html")
    assert "--figure delay_p99 --figure drops" in shlex.join(command)
    (tmp_path / "first" / "scenario.toml").rename(tmp_path / "scenario.toml")
    assert marqueue(*command, "-o", "again").returncode == 0
    for name in ("summary.json", "report.html", "figures.csv"):
        first, again = (tmp_path / each / name for each in ("first", "again"))
        assert first.read_bytes() == again.read_bytes(), name
