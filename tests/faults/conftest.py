"""What the tests of faults share."""

from pathlib import Path

import pytest

from forked import USERS_FILES

SCENARIO = """\
name = "Faults"
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
aqm = "red"

[[traffic]]
name = "long"
kind = "tcp"
count = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a scenario, and with files that are a user's."""
    made = tmp_path / "work"
    made.mkdir()
    (made / "faults.toml").write_text(SCENARIO)
    for name in USERS_FILES:
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text("mine")
    return made
