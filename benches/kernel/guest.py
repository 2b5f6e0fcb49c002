"""The first process of a user-mode Linux: runs TCP through its AQMs, prints what it saw, ends.

Called by the kernel with the file that says what to run. Standard library only: this is the
system's Python, and the file system is the host's, which is mounted read-only.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from typing import Any

FINIT_MODULE = 313
"""On x86-64."""
POWER_OFF = 0x4321FEDC
EVERY = 0.05
"""Seconds between looks at the queue."""

libc = ctypes.CDLL(None, use_errno=True)


def sh(words: str) -> str:
    done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr or done.stdout}")
    return done.stdout


def prepare(modules: str, kinds: list[str]) -> None:
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", TMPDIR="/run")
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
        sh(f"mount -t {kind} {kind} {where}")
    paths = ["drivers/net/veth.ko", *(f"net/sched/sch_{kind}.ko" for kind in kinds)]
    for path in paths:
        with open(f"{modules}/{path}", "rb") as module:
            if libc.syscall(FINIT_MODULE, module.fileno(), b"", 0):
                raise RuntimeError(f"{path}: {os.strerror(ctypes.get_errno())}")
    # a -- r -- b: what is compared hangs at r towards b; the way back takes the round-trip time.
    for host in "arb":
        sh(f"ip netns add {host}")
        sh(f"ip -n {host} link set lo up")
    for host, net in (("a", 1), ("b", 2)):
        sh(f"ip link add v{host} netns {host} type veth peer name r{host} netns r")
        for where, device, number in ((host, f"v{host}", 1), ("r", f"r{host}", 2)):
            sh(f"ip -n {where} addr add 10.0.{net}.{number}/24 dev {device}")
            sh(f"ip -n {where} link set {device} up")
            sh(f"ip netns exec {where} ethtool -K {device} tso off gso off gro off")
        sh(f"ip -n {host} route add default via 10.0.{net}.2")
        sh(f"ip netns exec {host} ethtool -K v{host} tx off")
    sh("ip netns exec r sysctl -qw net.ipv4.ip_forward=1")


def experiment(plan: dict[str, Any], tc: str, ecn: bool) -> dict[str, Any]:
    for host in "ab":
        sh(f"ip netns exec {host} sysctl -qw net.ipv4.tcp_ecn={int(ecn)}")
        sh(f"ip netns exec {host} sysctl -qw net.ipv4.tcp_no_metrics_save=1")
    sh(f"tc -n b qdisc replace dev vb root netem limit 10000 delay {1e3 * plan['rtt']:g}ms")
    rate = plan["rate"]
    sh("tc -n r qdisc replace dev rb root handle 1: htb default 1")
    # Tokens for ten packets: wake-ups are late by milliseconds, and the link would stand still.
    burst = f"burst {plan['burst']} cburst {plan['burst']}"
    sh(f"tc -n r class replace dev rb parent 1: classid 1:1 htb rate {rate}bit {burst}")
    sh(f"tc -n r qdisc replace dev rb parent 1:1 handle 2: {tc}")
    server = subprocess.Popen(
        ["ip", "netns", "exec", "b", "iperf3", "-s", "-1", "--forceflush"], stdout=subprocess.PIPE
    )
    assert server.stdout
    while b"listening" not in server.stdout.readline():
        pass
    client = subprocess.Popen(
        f"ip netns exec a iperf3 -c 10.0.2.1 -C cubic -P {plan['flows']} -t 3600".split(),
        stdout=subprocess.DEVNULL,
    )
    time.sleep(plan["warmup"])
    first, began = queue(), time.monotonic()
    received = acknowledged()
    backlog, stall, before = [], 0.0, began
    while before - began < plan["measured"]:
        time.sleep(EVERY)
        backlog.append(queue()["backlog"])
        now = time.monotonic()
        stall, before = max(stall, now - before), now
    last, took = queue(), time.monotonic() - began
    goodput = 8 * (acknowledged() - received) / took
    for process in (client, server):
        process.kill()
        process.wait()
    sh("tc -n r qdisc delete dev rb root")
    return {
        "goodput": goodput,
        "delay": 8 * sum(backlog) / len(backlog) / rate,
        "stall": stall,
        "seconds": took,
        **{name: last[name] - first[name] for name in ("packets", "drops", "marks")},
    }


def queue() -> dict[str, int]:
    found = json.loads(sh("tc -n r -s -j qdisc show dev rb"))
    [leaf] = [each for each in found if each["handle"] == "2:"]
    marks = leaf.get("marked", leaf.get("ecn_mark", 0))
    return {
        "packets": leaf["packets"],
        "drops": leaf["drops"],
        "marks": marks,
        "backlog": leaf["backlog"],
    }


def acknowledged() -> int:
    """Bytes of the connections of ``a`` that have been acknowledged; that for control has few."""
    words = sh("ip netns exec a ss -tin dst 10.0.2.1").split()
    return sum(
        int(word.removeprefix("bytes_acked:")) for word in words if word.startswith("bytes_acked:")
    )


def main() -> None:
    try:
        with open(sys.argv[1]) as file:
            plan = json.load(file)
        prepare(plan["modules"], plan["kinds"])
        print("READY", flush=True)
        for run in plan["runs"]:
            seen = {"name": run["name"], **experiment(plan, run["tc"], run["ecn"])}
            print("RESULT", json.dumps(seen), flush=True)
    except (
        Exception
    ) as error:  # Whatever it is, the host must hear of it before the machine is gone.
        print("FAILED", error, flush=True)
    os.sync()
    sys.stdout.flush()
    libc.reboot(POWER_OFF)


main()
