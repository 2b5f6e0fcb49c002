"""``marqueue link`` killed by SIGKILL at random moments of its start, its work and its end.

After each kill no process of the command is left, and the next start works and removes what the
killed one has left. ``MARQUEUE_FAULT_TRIALS`` is the number of kills.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marqueue.live import requirements
from marqueue.live.namespaces import LOCKS, NAMES, PREFIX

TRIALS = int(os.environ.get("MARQUEUE_FAULT_TRIALS", "6"))
PATIENCE = 30.0
"""Seconds after which nothing more is to be expected of any machine."""
LINK = [sys.executable, "-m", "marqueue", "link", "--rate", "10Mbit/s", "--"]
FAMILY = 'for n in 1 2 3; do setsid sh -c "sleep $0 & sleep $0" & done; sleep 0.2'
"""A command that leaves children in sessions of their own, and children of these."""
PROBE = "unshare --net --pid --fork --mount-proc ip tuntap add dev probe mode tun"


def no_links() -> str | None:
    """Why there can be no links here, found out by the system's own tools."""
    why = requirements.missing()
    if why:
        return why
    done = subprocess.run(PROBE.split(), capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


def processes_with(word: str) -> list[str]:
    """The command lines with ``word`` of processes that run."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            # It has ended meanwhile.
            continue
        if word in line:
            found.append(line)
    return found


def left_of(pid: int) -> list[str]:
    """The names and locks of a process's namespaces."""
    mine = f"{PREFIX}{pid}-"
    return [str(p) for where in (NAMES, LOCKS) for p in where.iterdir() if p.name.startswith(mine)]


def start(sleep: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*LINK, "sh", "-c", FAMILY, sleep], stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def lifetime() -> float:
    """How long an undisturbed link takes here, s."""
    began = time.monotonic()
    with start("3600") as link:
        assert link.wait(PATIENCE) == 0
    return time.monotonic() - began


@pytest.mark.skipif(no_links() is not None, reason=f"no links here: {no_links()}")
@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_link_that_is_killed_leaves_nothing_that_lasts(trial: int, lifetime: float) -> None:
    rng = random.Random(trial)
    sleep = f"3600.{os.getpid()}{trial:06}"
    with start(sleep) as link:
        moment = rng.uniform(0, lifetime)
        try:
            link.wait(moment)
        except subprocess.TimeoutExpired:
            link.kill()
        link.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while there := processes_with(sleep):
        assert time.monotonic() < deadline, f"killed after {moment:.3f} s, still there: {there}"
        time.sleep(0.01)
    following = subprocess.run(
        [*LINK, "true"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert following.returncode == 0, f"killed after {moment:.3f} s: {following.stderr}"
    assert left_of(link.pid) == [], f"killed after {moment:.3f} s"
