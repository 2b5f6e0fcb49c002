"""What a live link carries on this machine: the table of docs/live.md.

    python -m benches.live_link

Needs root and iperf3, and a machine that is otherwise idle: a minute. TCP: four CUBIC flows from
outside through `marqueue link`, 10 ms there and back, with a buffer of 20 ms. Small packets: UDP of
64 bytes of payload from inside, which the sender hands to Linux 64 at a time (UDP_SEGMENT) and the
receiver takes as they come (UDP_GRO).
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path("docs/live.md")
BEGIN, END = "<!-- link -->\n", "<!-- end link -->"
RATES = ("10Mbit/s", "40Mbit/s", "100Mbit/s", "200Mbit/s", "500Mbit/s", "1Gbit/s", "2Gbit/s")
SECONDS = 5
PORT = "5301"
SEGMENT, MTU = 1448, 1500
SMALL = 64
OFFERED = (0.5e6, 1e6, 2e6)
"""Small packets a second."""

SENDER = f"""
import os, socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_UDP, 103, {SMALL})
out.connect((os.environ["MARQUEUE_OUTSIDE"], {PORT}))
together, rate = 64, float(sys.argv[1])
data, begin, sent = bytes({SMALL} * together), time.monotonic(), 0
while (now := time.monotonic() - begin) < {SECONDS}:
    if sent < rate * now:
        out.send(data)
        sent += together
print(sent)
"""
RECEIVER = f"""
import socket
inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
inbox.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
inbox.setsockopt(socket.IPPROTO_UDP, 104, 1)
inbox.bind(("0.0.0.0", {PORT}))
print("on", flush=True)
inbox.settimeout(2 * {SECONDS})
place, got = bytearray(65536), 0
try:
    while True:
        got += inbox.recv_into(place)
        inbox.settimeout(1)
except TimeoutError:
    print(got // {SMALL})
"""


def link(*options: str, command: list[str]) -> tuple[dict[str, Any], str]:
    """The measurements of a link with these options, and what the command printed."""
    with tempfile.TemporaryDirectory() as there:
        file = f"{there}/link.json"
        told = ("--json", file, "--no-status")
        words = [sys.executable, "-m", "marqueue", "link", *options, *told, "--", *command]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return json.loads(Path(file).read_text("utf-8")), done.stdout


def tcp(rate: str) -> str:
    """A row of the table of TCP."""
    with subprocess.Popen(["iperf3", "-s", "-p", PORT], stdout=subprocess.DEVNULL) as server:
        listening = ["ss", "-tlnH", f"sport = :{PORT}"]
        while not subprocess.run(listening, check=True, capture_output=True).stdout:
            pass
        flows = f"-p {PORT} -R -C cubic -P 4 -t {SECONDS} -J"
        command = ["sh", "-c", f"iperf3 -c $MARQUEUE_OUTSIDE {flows}"]
        buffer = f"{bits(rate) * 0.02 / 8000:g} kB"
        told, printed = link("--rate", rate, "--delay", "5ms", "--buffer", buffer, command=command)
        # It does not see that the client has ended: the link is gone.
        server.terminate()
    goodput = json.loads(printed)["end"]["sum_received"]["bits_per_second"]
    error = told["audit"]["release_error"]
    verdict = "valid" if told["valid"] else "invalid"
    if told["valid"] and told["remarks"]:
        [remark] = told["remarks"]
        verdict += f", rates within {re.findall(r'rates by ([0-9.]+%)', remark)[0]}"
    cells = [
        rate.replace("Mb", " Mb").replace("Gb", " Gb"),
        f"{goodput / 1e6:.1f} Mbit/s",
        f"{goodput / (bits(rate) * SEGMENT / MTU):.1%}",
        *(f"{error[q] * 1e6:.1f} us" for q in ("p50", "p99", "p999")),
        f"{told['audit']['cpu'] / told['seconds']:.0%}",
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def bits(rate: str) -> float:
    """A rate of :data:`RATES` in bit/s."""
    return float(re.sub("[MG]bit/s", "", rate)) * (1e6 if "M" in rate else 1e9)


def small(rate: float, delay: str) -> str:
    """A row of the table of small packets."""
    first = str(min(os.sched_getaffinity(0)))
    receiver = ["taskset", "-c", first, sys.executable, "-c", RECEIVER]
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        running.stdout.readline()
        command = ["taskset", "-c", first, sys.executable, "-c", SENDER, str(rate)]
        options = ("--rate", "10Gbit/s", "--delay", delay, "--buffer", "20000 packets")
        told, printed = link(*options, command=command)
        got = int(running.stdout.read())
    sent, audit = int(printed), told["audit"]
    cells = [
        f"{sent / SECONDS / 1e6:.2f} million/s",
        delay,
        f"{got / SECONDS / 1e6:.2f} million/s",
        f"{1 - got / sent:.2%}",
        f"{audit['release_error']['p99'] * 1e6:.1f} us",
        f"{audit['cpu'] / told['seconds']:.0%}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measures everything, and writes the tables."""
    rows = [
        "",
        f"Linux {platform.release().split('-')[0]}, {os.cpu_count()} processors; one run of "
        f"{SECONDS} s each (`make bench-link`).",
        "",
        "| link | goodput | of what is possible | error p50 | p99 | p99.9 | CPU of the thread | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rate in RATES:
        rows.append(tcp(rate))
        print(rows[-1], flush=True)
    rows += ["", "| small packets sent | delay | received | lost | error p99 | CPU of the thread |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    for delay in ("0 ms", "5 ms"):
        for each in OFFERED:
            rows.append(small(each, delay))
            print(rows[-1], flush=True)
    table = "\n".join([*rows, "", ""])
    text = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}{table}{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
