"""The work of minim's published benchmark, here and, where it is, in minim itself.

    python -m benches.minim [--rounds N] [--minim PROGRAM]

minim (https://github.com/netiken/minim) is a simulator of one link with DCTCP senders, in Rust. Its
benchmark: 10,000 flows of 375 to 1125 kB, 750 packets of 1000 bytes in the mean, start uniformly in
10 s. They share one source, whose link has 10 Gbit/s, and behind it a link of 10 Gbit/s that marks
above 30 kB. A packet takes 50 microseconds to that link, 50 on to the receiver, and its
acknowledgement 100 back; a window has at most 10,000 bytes; headers have 40 bytes.

PROGRAM does this work with minim and is not a part of marqueue. It is given a seed, and writes the
packets that it sent, the CPU time of minim's ``run`` (s) and the mean completion time of flows (s):
``{"packets": 7515141, "engine": 6.87, "fct": 0.0152}``. Without it only marqueue is timed. Both run
in turns, each run in a process of its own. Measurements and table go to docs/performance.
"""

import argparse
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches import here
from benches.record import record, spread, table
from marqueue.scenario import Scenario, compile, from_dict

FLOWS = 10_000
SMALLEST, LARGEST = 375, 1125
"""Packets of a flow."""
SIZES = 25
"""Sizes of flows here, evenly spaced; in minim they are uniform."""
SPREAD = 10
"""Time over which flows start, s."""
DURATION = 11
"""Time of a run, s: all flows have ended."""
BENCHMARK = "10 Gbit/s, 10,000 DCTCP flows, 750 packets in the mean, 10 s"


@dataclass(frozen=True)
class Sample:
    """One run."""

    packets: int
    engine: float
    """CPU time without process start and set-up, s."""

    @property
    def rate(self) -> float:
        """Millions of packets a CPU second."""
        return self.packets / self.engine / 1e6


def scenario() -> Scenario:
    """The same link, sources and flows."""
    step = (LARGEST - SMALLEST) / SIZES
    groups = [
        {
            "name": f"{round(SMALLEST + step * (i + 0.5))} packets",
            "kind": "tcp",
            "count": FLOWS // SIZES,
            "size": f"{round(SMALLEST + step * (i + 0.5))} packets",
            "jitter": f"{SPREAD} s",
        }
        for i in range(SIZES)
    ]
    given: dict[str, Any] = {
        "name": "The benchmark of minim",
        "duration": f"{DURATION} s",
        "replications": 1,
        "sample": "0 s",
        "topology": {
            "kind": "dumbbell",
            "rtts": ["200 us"],
            "bottleneck": {
                "rate": "10 Gbit/s",
                "delay": "25 us",
                "buffer": "1000000 packets",
                "aqm": {"name": "step", "packets": "30 packets"},
                "signal": "ecn-only",
                "packet": "1040 B",
            },
            "access": {"rate": "10 Gbit/s", "delay": "25 us"},
        },
        "transport": {
            "default": {
                "preset": "rfc",
                "control": "dctcp",
                "ecn": True,
                "segment": "1000 B",
                "handshake": False,
                "initial_window": "10 packets",
                "max_window": "10 packets",
                "ack_every": "1 packet",
            }
        },
        "traffic": groups,
    }
    return from_dict(given)


def measure(rounds: int, program: Path | None) -> dict[str, list[Sample]]:
    """The runs of both, in turns."""
    plan = compile(scenario())
    runs: dict[str, list[Sample]] = {"here": []}
    if program:
        runs["minim"] = []
    for seed in range(1, rounds + 1):
        ours = here.run_plan(plan, seed, here.ONCE)
        runs["here"].append(Sample(ours.packets, ours.engine))
        if program:
            command = [str(program), str(seed)]
            told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            runs["minim"].append(Sample(told["packets"], told["engine"]))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each")
    parser.add_argument("--minim", type=Path, help="the program that does the work with minim")
    arguments = parser.parse_args()
    if arguments.minim and not arguments.minim.is_file():
        parser.error(f"--minim: got {arguments.minim}, expected a program that exists")
    if not arguments.minim:
        print("minim is left out: no program was given (MINIM=PROGRAM)")
    here.build()
    runs = measure(arguments.rounds, arguments.minim)
    rates = {side: [sample.rate for sample in each] for side, each in runs.items()}
    head = ["millions of packets a CPU second: minimum / median / maximum", *rates]
    row = [BENCHMARK, *(spread(each, 2) for each in rates.values())]
    if "minim" in rates:
        head.append("here / minim")
        pairs = zip(rates["here"], rates["minim"], strict=True)
        row.append(spread([ours / theirs for ours, theirs in pairs], 1))
    measured = {side: [asdict(sample) for sample in each] for side, each in runs.items()}
    record("minim", measured, table(head, [row]))


if __name__ == "__main__":
    main()
