"""What the machine must have, and how commands are given to it.

Namespaces, addresses and routes are made by ``ip``, sockets looked at by ``ss`` (iproute2): what a
user would type, and can type meanwhile to look.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address
from pathlib import Path

from marqueue.errors import RunError

TUN = Path("/dev/net/tun")
IPV6 = Path("/proc/sys/net/ipv6")
#: Of addresses of IPv6: a local prefix (RFC 4193), whose 40 bits are no more random than "mqueu".
#: Each is that of IPv4 behind it.
PREFIX6 = IPv6Address("fd6d:7175:6575::")
#: The least that a link with IPv6 must carry, bytes (RFC 8200, section 5).
LEAST6 = 1280
BASICS = ("ip", "nsenter", "setpriv", "taskset", "unshare")
#: In which package of Debian a command is.
PACKAGES = {
    "ip": "iproute2",
    "ss": "iproute2",
    "iperf3": "iperf3",
    "nft": "nftables",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "unshare": "util-linux",
}
PATIENCE = 20.0
"""Seconds for any command that only sets something up."""
FILES = 48
"""File descriptors that a link needs, those of the commands that set it up included."""


def missing(tools: Iterable[str] = ()) -> str | None:
    """Why this machine cannot carry real packets; None if it can."""
    if os.geteuid() != 0:
        return "not root: network namespaces and TUN devices need it"
    if not TUN.exists():
        return f"{TUN}: no such device: the kernel has no TUN"
    for tool in (*BASICS, *tools):
        if shutil.which(tool) is None:
            return f"{tool}: no such command (Debian has it in {PACKAGES[tool]})"
    return None


def require(tools: Iterable[str] = (), files: int = FILES) -> None:
    """Raises RunError if this machine cannot carry real packets, or this process cannot open so
    many more ``files``."""
    why = missing(tools)
    if why:
        raise RunError(why)
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = len(os.listdir("/proc/self/fd"))
    if most != resource.RLIM_INFINITY and most - taken < files:
        raise RunError(
            f"open files: got a limit of {most} (ulimit -n) with {taken} in use, expected at least "
            f"{taken + files}"
        )


def run(*command: str, given: str = "") -> str:
    """The output of a short command that reads ``given``; raises RunError with what it said if it
    fails."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            # Ctrl-C is for this process, which then undoes what was done.
            process_group=0,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise RunError(f"{' '.join(command)}: {said}")
    return done.stdout


def batch(namespace: str | None, *lines: str) -> None:
    """Several ``ip`` commands in a namespace, of which none may fail."""
    where = ("-netns", namespace) if namespace else ()
    run("ip", *where, "-batch", "-", given="\n".join(lines))


def inside(namespace: str, command: Sequence[str], cpus: Iterable[int] = ()) -> list[str]:
    """The command line that runs ``command``, a child of this process, in a network namespace.

    Only the network is another (``ip netns exec`` would change /sys too), and the command dies with
    whoever started it. The kernel says nothing of a parent that has died before it was asked to, so
    the shell looks once more.
    """
    mine = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"']
    where = [*mine, str(os.getpid()), "nsenter", f"--net=/run/netns/{namespace}", "--"]
    on = ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
    return [*where, *on, *command]


def processors() -> tuple[int, ...]:
    """The processors that are left for whoever sends and receives: all but the last, which is the
    link's, if there are several."""
    mine = sorted(os.sched_getaffinity(0))
    return tuple(mine[:-1] or mine)


def has_ipv6() -> bool:
    """Do devices that are made here have IPv6?"""
    switches = [IPV6 / "conf" / of / "disable_ipv6" for of in ("all", "default")]
    return IPV6.exists() and all(each.read_text().strip() == "0" for each in switches)


def set_parameters(namespace: str, **values: str | int) -> None:
    """Network parameters of a namespace; in their names ``__`` stands for a dot. Where the kernel
    has no IPv6 there is nothing to tell it."""
    lines = "; ".join(
        f"echo {value} > /proc/sys/net/{name.replace('__', '/')}"
        for name, value in values.items()
        if IPV6.exists() or not name.startswith("ipv6__")
    )
    # Without nsenter's --mount, /proc/sys/net is that of the namespace one is in.
    run(*inside(namespace, ["sh", "-ec", lines or ":"]))


def send_drops(namespace: str | None, device: str) -> int:
    """How many packets the kernel had to send by ``device`` of a namespace, and dropped because
    the queue of the device was full (``tx_dropped``)."""
    where = ("-netns", namespace) if namespace else ()
    [shown] = json.loads(run("ip", *where, "-json", "-stats", "link", "show", "dev", device))
    return int(shown["stats64"]["tx"]["dropped"])


def stolen_seconds() -> float:
    """CPU time that a hypervisor gave to others, all processors together, s."""
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return int(first[8]) / os.sysconf("SC_CLK_TCK") if len(first) > 8 else 0.0
