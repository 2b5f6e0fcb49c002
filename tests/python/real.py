"""What tests with real packets need, found out by trying it with the system's own tools: where
these fail the tests are skipped, with what was said."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from marqueue.live import kernel

TOOLS = ("ip", "nsenter", "setpriv", "taskset", "unshare", "iperf3")
IPV6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
PROBE = """
ip netns add "$0"
trap 'ip netns delete "$0"' EXIT
nsenter --net="/run/netns/$0" -- setpriv --pdeathsig KILL sh -ec "$1"
"""
FORWARD = "echo 1 > /proc/sys/net/ipv4/ip_forward"
TUN = "ip tuntap add dev probe mode tun; ip addr add 198.18.0.1/32 dev probe"


def laws() -> list[str]:
    """The window laws of this kernel."""
    return kernel.AVAILABLE.read_text().split() if kernel.AVAILABLE.exists() else []


def absent(*tools: str) -> str | None:
    """Those that are not installed, in words."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else None


@cache
def no_hosts() -> str | None:
    """Why there can be no namespaces with TCP under CUBIC between them."""
    why = absent(*TOOLS) or _refused(FORWARD)
    return why or (None if "cubic" in laws() else "this kernel has no CUBIC")


@cache
def no_links() -> str | None:
    """Why there can be no TUN devices between them, or nobody to look at their sockets."""
    return no_hosts() or absent("ss") or _refused(TUN)


def _refused(commands: str) -> str | None:
    """What was said if ``commands`` cannot be done in a namespace."""
    probe = ["sh", "-ec", PROBE, f"probe-{os.getpid()}", commands]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip() or "namespaces are refused"


@cache
def no_dctcp() -> str | None:
    """Why DCTCP cannot be brought into this kernel."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if not version or tuple(map(int, version.groups())) < (6, 4):
        return f"Linux {os.uname().release}, before 6.4"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel does not describe its types (BTF)"
    return kernel.missing()


def has_ipv6() -> bool:
    """Do new devices have IPv6 here?"""
    return IPV6.exists() and IPV6.read_text().strip() == "0"


needs_tshark = pytest.mark.skipif(absent("tshark") is not None, reason=f"{absent('tshark')}")
real = pytest.mark.skipif(no_links() is not None, reason=f"no live links here: {no_links()}")
needs_dctcp = pytest.mark.skipif(no_dctcp() is not None, reason=f"no DCTCP here: {no_dctcp()}")
needs_bbr = pytest.mark.skipif("bbr" not in laws(), reason="this kernel has no BBR")
needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="IPv6 is switched off")


@cache
def no_translation() -> str | None:
    """Why addresses cannot be translated."""
    why = absent("nft", "unshare")
    if why:
        return why
    rules = "table inet t { chain c { type nat hook postrouting priority srcnat; masquerade; }; }"
    probe = ["unshare", "--net", "nft", rules]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.partition("\n")[0]


needs_translation = pytest.mark.skipif(
    no_translation() is not None, reason=f"no address translation here: {no_translation()}"
)


def processes_with(word: str) -> list[int]:
    """The processes that have ``word`` on their command line."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes()
        except OSError:
            # It has ended meanwhile.
            continue
        if word.encode() in words:
            found.append(int(each.name))
    return found


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Does the condition become true in time?"""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
