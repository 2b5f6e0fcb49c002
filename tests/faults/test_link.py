"""``marqueue link`` killed by SIGKILL at random times.

After each kill no process of the command survives, and the next start works and removes what is
left of the killed one. ``MARQUEUE_FAULT_TRIALS`` is the number of kills.
"""

import os
import random
import subprocess
import sys
import time

import pytest

from live_requirements import becomes_true, processes_with
from marqueue.live import requirements
from marqueue.live.namespaces import LOCKS, NAMES, PREFIX

TRIALS = int(os.environ.get("MARQUEUE_FAULT_TRIALS", "6"))
PATIENCE = 30.0
"""Seconds within which every process must have ended."""
LINK = [sys.executable, "-m", "marqueue", "link", "--rate", "10Mbit/s", "--"]
FAMILY = 'for n in 1 2 3; do setsid sh -c "sleep $0 & sleep $0" & done; sleep 0.2'
"""A command that leaves children in their own sessions, which have children, too."""
PROBE = "unshare --net --pid --fork --mount-proc ip tuntap add dev probe mode tun"


def why_no_links() -> str | None:
    """The reason why links cannot be made here, found with the system's own tools."""
    why = requirements.missing()
    if why:
        return why
    done = subprocess.run(PROBE.split(), capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


def left_of(pid: int) -> list[str]:
    """The names and lock files of a process's namespaces."""
    mine = f"{PREFIX}{pid}-"
    return [str(p) for where in (NAMES, LOCKS) for p in where.iterdir() if p.name.startswith(mine)]


def start(sleep: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*LINK, "sh", "-c", FAMILY, sleep], stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def lifetime() -> float:
    """Duration of an undisturbed link, s."""
    began = time.monotonic()
    with start("3600") as link:
        assert link.wait(PATIENCE) == 0
    return time.monotonic() - began


@pytest.mark.skipif(why_no_links() is not None, reason=f"no links here: {why_no_links()}")
@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_killed_link_leaves_nothing_behind(trial: int, lifetime: float) -> None:
    rng = random.Random(trial)
    sleep = f"3600.{os.getpid()}{trial:06}"
    with start(sleep) as link:
        moment = rng.uniform(0, lifetime)
        try:
            link.wait(moment)
        except subprocess.TimeoutExpired:
            link.kill()
        link.wait(PATIENCE)
    assert becomes_true(lambda: not processes_with(sleep), PATIENCE), (
        f"killed after {moment:.3f} s, still there: {processes_with(sleep)}"
    )
    following = subprocess.run(
        [*LINK, "true"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert following.returncode == 0, f"killed after {moment:.3f} s: {following.stderr}"
    assert left_of(link.pid) == [], f"killed after {moment:.3f} s"
