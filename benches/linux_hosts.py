"""Speed with Linux kernels as end hosts.

    python -m benches.linux_hosts [--kernel NAME] [--seconds N]

CUBIC flows of one kernel share 100 Mbit/s under droptail. The figure is the number of packets that
enter the bottleneck and its way back, per second of CPU time of simulator and guests together.
"""

import argparse
import json
import resource
import time

import marqueue._core as _core
from marqueue.kernels import find
from marqueue.scenario import compile, from_toml

FLOWS = (1, 10, 100, 1000)

SCENARIO = """
name = "{flows} flows"
duration = "{seconds} s"
sample = "1 s"

[topology]
kind = "dumbbell"
rtts = ["24 ms"]
reverse = {{ rate = "100 Mbit/s", delay = "10 ms", buffer = "10000 packets" }}

[topology.bottleneck]
rate = "100 Mbit/s"
delay = "10 ms"
buffer = "500 packets"

[topology.access]
rate = "1 Gbit/s"
delay = "1 ms"

[transport.default]
stack = "{kernel}"

[[traffic]]
kind = "tcp"
count = {flows}
"""


def cpu() -> float:
    """CPU time of this process and of those that it has waited for, s."""
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def main() -> None:
    """Measures and prints a line for each number of flows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="linux-7.3")
    parser.add_argument("--seconds", type=int, default=10)
    given = parser.parse_args()
    kernels = {given.kernel: find(given.kernel).paths}
    for flows in FLOWS:
        text = SCENARIO.format(flows=flows, seconds=given.seconds, kernel=given.kernel)
        plan = json.dumps(compile(from_toml(text)))
        spent, begun = cpu(), time.perf_counter()
        result = _core.run(plan, 1, _core.Control(), kernels)
        spent, wall = cpu() - spent, time.perf_counter() - begun
        packets = sum(window["arrivals"] for link in result["links"] for window in link["windows"])
        print(
            f"{flows:5} flows: {packets:8,} packets, {wall:6.2f} s, CPU {spent:6.2f} s, "
            f"{packets / spent:8,.0f} packets a CPU second"
        )


if __name__ == "__main__":
    main()
