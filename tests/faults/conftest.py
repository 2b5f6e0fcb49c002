"""Fixtures shared by the fault tests."""

from pathlib import Path

import pytest

from forked import USERS_FILES
from small_scenario import SMALL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a scenario and with files of the user."""
    made = tmp_path / "work"
    made.mkdir()
    (made / "faults.toml").write_text(SMALL)
    for name in USERS_FILES:
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text("mine")
    return made
