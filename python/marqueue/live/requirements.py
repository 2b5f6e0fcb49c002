"""Checks what a live run needs of the machine, and runs the system's commands.

Namespaces, addresses and routes are set up with ``ip``, and sockets are read with ``ss`` (both
iproute2), so that users can inspect the same state with the same tools.
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
from marqueue.live import isolation

TUN = Path("/dev/net/tun")
IPV6 = Path("/proc/sys/net/ipv6")
#: Prefix of IPv6 addresses (local, RFC 4193; its 40 bits are "mqueu"), followed by the IPv4
#: address.
PREFIX6 = IPv6Address("fd6d:7175:6575::")
#: Smallest MTU of a link with IPv6, bytes (RFC 8200, section 5).
LEAST6 = 1280
BASICS = ("ip", "nsenter", "setpriv", "taskset", "unshare")
#: The Debian package of each command.
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
"""Timeout of setup commands, s."""
DEVICE_QUEUE = 10_000
"""Packets that wait at most in a TUN device until the link reads them. The link reads them at once,
unless the machine does not keep up, and then none should be lost."""
FILES = 48
"""File descriptors needed by a link, including those of setup commands."""


def missing(tools: Iterable[str] = ()) -> str | None:
    """The reason why this machine cannot carry real packets; None if it can."""
    if os.geteuid() != 0:
        return "not root: network namespaces and TUN devices need it"
    if not TUN.exists():
        return f"{TUN}: no such device: the kernel has no TUN"
    for tool in (*BASICS, *tools):
        if shutil.which(tool) is None:
            return f"{tool}: no such command (Debian has it in {PACKAGES[tool]})"
    return None


def require(tools: Iterable[str] = (), files: int = FILES) -> None:
    """Raises RunError if this machine cannot carry real packets, or if this process cannot open
    ``files`` more files."""
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
    """The output of a short command with ``given`` as its standard input. Raises RunError with its
    error output if it fails."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            # A new session: Ctrl-C reaches only this process, which then cleans up.
            process_group=0,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise RunError(f"{' '.join(command)}: {said}")
    return done.stdout


def batch(namespace: str | None, *lines: str) -> None:
    """Runs several ``ip`` commands in a namespace. Raises RunError if one fails."""
    where = ("-netns", namespace) if namespace else ()
    run("ip", *where, "-batch", "-", given="\n".join(lines))


def inside(namespace: str, command: Sequence[str], cpus: Iterable[int] = ()) -> list[str]:
    """The command line that runs ``command`` in a network namespace as a child of this process.

    Only the network namespace changes (``ip netns exec`` would also remount /sys), and the command
    dies with its parent. The kernel does not report a parent that died before the request, so the
    shell checks the parent once more.
    """
    mine = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"']
    where = [*mine, str(os.getpid()), "nsenter", f"--net=/run/netns/{namespace}", "--"]
    on = ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
    return [*where, *on, *command]


def processors() -> tuple[int, ...]:
    """The CPUs for senders and receivers: all but the last, which the link uses, if there are
    several and the link has none of its own."""
    mine = allowed()
    return tuple(mine if isolation.is_isolated() else mine[:-1] or mine)


def allowed() -> list[int]:
    """The CPUs that this process may use. The link uses the last one, or one that is isolated for
    it and not among them."""
    return sorted(os.sched_getaffinity(0))


def has_ipv6() -> bool:
    """Whether new devices have IPv6."""
    switches = [IPV6 / "conf" / of / "disable_ipv6" for of in ("all", "default")]
    return IPV6.exists() and all(each.read_text().strip() == "0" for each in switches)


def set_parameters(namespace: str, **values: str | int) -> None:
    """Sets network parameters of a namespace. ``__`` in names stands for a dot. Does nothing for
    IPv6 parameters if the kernel has no IPv6."""
    lines = "; ".join(
        f"echo {value} > /proc/sys/net/{name.replace('__', '/')}"
        for name, value in values.items()
        if IPV6.exists() or not name.startswith("ipv6__")
    )
    # nsenter without --mount: /proc/sys/net shows the entered network namespace.
    run(*inside(namespace, ["sh", "-ec", lines or ":"]))


def device_drops(namespace: str | None, device: str) -> dict[str, int]:
    """Packets that the kernel dropped at a TUN device: ``tun_drops`` on the way to the link,
    because the device's queue was full (``tx_dropped``), and ``backlog_drops`` behind the link,
    because the processor that was to handle them had too many (``rx_dropped``)."""
    where = ("-netns", namespace) if namespace else ()
    [shown] = json.loads(run("ip", *where, "-json", "-stats", "link", "show", "dev", device))
    stats = shown["stats64"]
    return {"tun_drops": int(stats["tx"]["dropped"]), "backlog_drops": int(stats["rx"]["dropped"])}
