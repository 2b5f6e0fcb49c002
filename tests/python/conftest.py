"""What several tests share: example scenarios, a small scenario, the command as people run it."""

import subprocess
import sys
from pathlib import Path

import pytest

from marqueue.scenario import Scenario, from_toml

EXAMPLES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

SMALL = """\
name = "Small"
duration = "4 s"
warmup = "1 s"
replications = 3

[topology]
kind = "dumbbell"
rtts = ["40 ms", "80 ms"]
access = { rate = "1 Gbit/s", delay = "5 ms" }

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "50 packets"
aqm = { name = "red", min_th = "10 packets", max_th = "30 packets" }

[transport.default]
preset = "ns2"
ecn = true

[[traffic]]
name = "long"
kind = "tcp"
count = 5

[[traffic]]
name = "short"
kind = "poisson"
rate = "5 /s"
size = "10 packets"
"""
"""A scenario that runs in a moment."""

COMMAND = [sys.executable, "-m", "marqueue"]


@pytest.fixture
def small() -> Scenario:
    return from_toml(SMALL)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def marqueue(tmp_path: Path):
    """Runs the command in an empty directory."""

    def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return command
