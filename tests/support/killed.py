"""Programs that are killed (SIGKILL) before one of the system calls by which they change something
outside themselves: strace holds them there.

strace counts the calls of a name by thread.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

CALLS = "bpf,mkdir,mkdirat,rename,renameat,renameat2,rmdir,sendmsg,sendto,unlink,unlinkat"
CHANGES = re.compile(
    r"BPF_OBJ_PIN|BPF_LINK_|^(mkdir|rename|rmdir|unlink)|RTM_(NEW|DEL)|nlmsg_type=0x2[45]"
)
"""Of :data:`CALLS` those after which something is left when the process ends, if they succeed.
strace has names for some of the messages to the kernel; the numbers are RTM_NEWQDISC and
RTM_DELQDISC."""

Point = tuple[str, int]
"""A system call: its name, and its number among those of this name."""


def points(words: Sequence[str], trace: Path) -> list[Point]:
    """Runs a program to its end; returns the calls by which its threads change something. ``trace``
    is a file for what strace writes."""
    _run(words, "-o", str(trace), "-e", f"trace={CALLS}")
    counts: Counter[tuple[str, str]] = Counter()
    found = []
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        thread, call = line.split(maxsplit=1)
        name = call.partition("(")[0]
        counts[thread, name] += 1
        if CHANGES.search(call) and " = -1 " not in call:
            found.append((name, counts[thread, name]))
    return found


def kill_before(point: Point, words: Sequence[str]) -> None:
    """Runs a program up to a point, and kills it there."""
    name, number = point
    inject = f"inject={name}:signal=KILL:when={number}"
    done = _run(words, "-o", "/dev/null", "-e", f"trace={name}", "-e", inject, check=False)
    # strace ends as its program does.
    assert done.returncode == -9, f"{point}: {done.returncode}, {done.stderr}"


def _run(
    words: Sequence[str], *options: str, check: bool = True
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["strace", "-f", "-qq", *options, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=check,
    )
