"""Debian's user-mode Linux: a kernel that is a process, with all of its AQMs as modules.

Nothing is installed: the package is unpacked into a folder, and the guest's files are the host's.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

GUEST = Path(__file__).with_name("guest.py")


class NoUml(Exception):
    """There is no user-mode Linux here; the message says why."""


def fetch(folder: Path) -> Path:
    """The package, unpacked in ``folder``."""
    tree = folder / "uml"
    if tree.exists():
        return tree
    for tool in ("apt-get", "dpkg-deb"):
        if not shutil.which(tool):
            raise NoUml(f"{tool}: not installed, expected Debian, whose user-mode-linux is used")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", "user-mode-linux"], cwd=folder, check=True)
    [package] = folder.glob("user-mode-linux_*.deb")
    subprocess.run(["dpkg-deb", "-x", package.name, "unpacked"], cwd=folder, check=True)
    (folder / "unpacked").rename(tree)
    return tree


def run(
    tree: Path, plan: dict[str, Any], folder: Path, patience: float
) -> Iterator[dict[str, Any]]:
    """What the guest sees of each run, as it comes; it is killed after ``patience`` s."""
    [modules] = (tree / "usr/lib/uml/modules").iterdir()
    told = folder / "plan.json"
    told.write_text(json.dumps({**plan, "modules": str(modules / "kernel")}))
    # The guest keeps the time of the wall: it goes before others, where that is allowed.
    first = ["nice", "-n", "-20"] if os.geteuid() == 0 else []
    command = [
        *first,
        str(tree / "usr/bin/linux.uml"),
        "mem=256M", "rootfstype=hostfs", "rootflags=/", "ro", "init=/usr/bin/python3",
        "con=null", "con0=fd:0,fd:1", "quiet", "--", str(GUEST.resolve()), str(told.resolve()),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        assert process.stdout
        # A guest is several processes of the host.
        timer = Timer(patience, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            seen = 0
            for line in process.stdout:
                kind, _, rest = line.strip().partition(" ")
                if kind == "RESULT":
                    seen += 1
                    yield json.loads(rest)
                elif kind == "FAILED":
                    raise NoUml(f"guest: {rest}")
            if seen < len(plan["runs"]):
                raise NoUml(
                    f"guest: {seen} of {len(plan['runs'])} runs ended within {patience:g} s"
                )
        finally:
            timer.cancel()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
