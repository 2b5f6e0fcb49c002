"""Requirements of tests with real packets, probed with the system's own tools.

Tests are skipped with the tools' error message where a probe fails.
"""

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
from marqueue.results import Result

TOOLS = ("ip", "nsenter", "setpriv", "taskset", "unshare", "iperf3")
IPV6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
PROBE = """
ip netns add "$0"
trap 'ip netns delete "$0"' EXIT
nsenter --net="/run/netns/$0" -- setpriv --pdeathsig KILL sh -ec "$1"
"""
FORWARD = "echo 1 > /proc/sys/net/ipv4/ip_forward"
TUN = "ip tuntap add dev probe mode tun; ip addr add 198.18.0.1/32 dev probe"


def window_laws() -> list[str]:
    """The window laws of this kernel."""
    return kernel.AVAILABLE.read_text().split() if kernel.AVAILABLE.exists() else []


def not_installed(*tools: str) -> str | None:
    """The tools that are not installed, as a sentence; None if all are."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else None


@cache
def why_no_hosts() -> str | None:
    """The reason why namespaces with CUBIC between them cannot be made; None if they can."""
    why = not_installed(*TOOLS) or _refused(FORWARD)
    return why or (None if "cubic" in window_laws() else "this kernel has no CUBIC")


@cache
def why_no_links() -> str | None:
    """The reason why TUN devices cannot be made or sockets not be read; None if they can."""
    return why_no_hosts() or not_installed("ss") or _refused(TUN)


def _refused(commands: str) -> str | None:
    """The error message of ``commands`` in a new namespace; None if they succeed."""
    probe = ["sh", "-ec", PROBE, f"probe-{os.getpid()}", commands]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip() or "namespaces are refused"


@cache
def why_no_dctcp() -> str | None:
    """The reason why DCTCP cannot be loaded into this kernel; None if it can."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if not version or tuple(map(int, version.groups())) < (6, 4):
        return f"Linux {os.uname().release}, before 6.4"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel does not describe its types (BTF)"
    return kernel.missing()


def has_ipv6() -> bool:
    """Whether new devices have IPv6."""
    return IPV6.exists() and IPV6.read_text().strip() == "0"


needs_tshark = pytest.mark.skipif(
    not_installed("tshark") is not None, reason=f"{not_installed('tshark')}"
)
needs_links = pytest.mark.skipif(
    why_no_links() is not None, reason=f"no live links here: {why_no_links()}"
)
needs_dctcp = pytest.mark.skipif(
    why_no_dctcp() is not None, reason=f"no DCTCP here: {why_no_dctcp()}"
)
needs_bbr = pytest.mark.skipif("bbr" not in window_laws(), reason="this kernel has no BBR")
needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="IPv6 is switched off")


@cache
def why_no_nat() -> str | None:
    """The reason why NAT is not available; None if it is."""
    why = not_installed("nft", "unshare")
    if why:
        return why
    rules = "table inet t { chain c { type nat hook postrouting priority srcnat; masquerade; }; }"
    probe = ["unshare", "--net", "nft", rules]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.partition("\n")[0]


needs_nat = pytest.mark.skipif(
    why_no_nat() is not None, reason=f"no address translation here: {why_no_nat()}"
)


def processes_with(word: str) -> list[int]:
    """The ids of processes with ``word`` on their command line."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes()
        except OSError:
            # The process has ended in the meantime.
            continue
        if word.encode() in words:
            found.append(int(each.name))
    return found


def becomes_true(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether the condition becomes true within some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def assert_late_at_most(result: Result) -> None:
    """Whatever makes a live result invalid is that the machine did not keep up."""
    reasons = result.provenance.live["invalid_reasons"]
    assert [r for r in reasons if not re.search("late|keep up|lost", r)] == []


def skip_if_late(result: Result) -> None:
    """Ends a test whose result says that the machine did not keep up."""
    assert_late_at_most(result)
    if result.provenance.live["invalid_reasons"]:
        pytest.skip("the machine did not keep up: nothing is said of its timing")
