"""A network of 10,000 links, with all queues and with those of bottlenecks.

    python -m benches.hybrid_large [--seconds S] [--replications N]

First a million flows, each run in a process of its own, from the scenario to the result: CPU time
and memory. Then errors as in benches/hybrid, of a million flows, most of whose windows are below a
packet, and of a hundred thousand. Measurements and tables go to docs/performance.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from benches import hybrid
from benches.hybrid_networks import long_flows, random_network
from benches.record import record, table
from marqueue import run
from marqueue.scenario import Scenario, compile, plan_text, with_overrides
from marqueue.scenario.hybrid import with_models
from marqueue.scenario.topology import Graph

HEAD = (
    "queues",
    "links with packets",
    "wires",
    "million flows",
    "compilation, CPU s",
    "of it the prediction",
    "run to the result, CPU s",
    "peak, MB",
    "goodput, Gbit/s",
)
STARTS = "0.2 s"
"""The time within which all flows start."""
FLOWS = 1_000_000
NODES, EDGES, PAIRS = 2500, 5000, 100_000
ERRORS = {FLOWS: 1.0, 100_000: 3.0}
"""Flows of the runs whose errors are measured, and their simulated time, s: the second half
counts."""


@dataclass(frozen=True)
class Row:
    """A run of the network."""

    queues: str
    queued: int
    """Links with queues that packets enter."""
    wires: int
    flows: int
    compilation: float
    """CPU time from the checked scenario to the plan, s."""
    prediction: float
    """Part of it for the prediction and the wires, s."""
    running: float
    """CPU time of the engine and the tables of the result, s."""
    peak_kb: int
    goodput: float
    """Of all flows after the warm-up, bit/s."""

    def cells(self) -> list[str]:
        """The row of the table."""
        return [
            self.queues,
            f"{self.queued:,}",
            f"{self.wires:,}",
            f"{self.flows / 1e6:g}",
            f"{self.compilation:.1f}",
            f"{self.prediction:.1f}",
            f"{self.running:.1f}",
            f"{self.peak_kb / 1e3:.0f}",
            f"{self.goodput / 1e9:.1f}",
        ]


def network(flows: int, seconds: float) -> Scenario:
    """The network with all queues."""
    return random_network(
        NODES,
        EDGES,
        long_flows(flows, STARTS),
        pairs=PAIRS,
        seconds=seconds,
        warmup=seconds / 2,
        rates=(100, 200, 400),
    )


def error(flows: int, seconds: float, replications: int) -> hybrid.Row:
    """The errors of hybrid runs."""
    scenario = network(flows, seconds)
    every = hybrid.run(scenario, range(1, replications + 1))
    other = hybrid.run(scenario, range(replications + 1, 2 * replications + 1))
    name = f"10,000 links, {flows:,} flows, {seconds:g} s"
    return hybrid.compare(name, hybrid.DEFAULT, every, other, scenario)


def measure(queues: str, seconds: float) -> Row:
    """One run, in this process."""
    every = network(FLOWS, seconds)
    began = time.process_time()
    plan = compile(every)
    compilation = time.process_time() - began
    prediction = 0.0
    scenario = every
    if queues != "all":
        began = time.process_time()
        graph = every.topology
        assert isinstance(graph, Graph)
        plan = with_models(plan, graph.bottleneck_from, graph.upstream_from)
        prediction = time.process_time() - began
        compilation += prediction
        scenario = with_overrides(every, [f"topology.queues={queues}"])
    plan_text(scenario)
    began = time.process_time()
    result = run(scenario, threads=1, jobs=1)
    running = time.process_time() - began
    return Row(
        queues,
        len(result.links),
        len(plan["links"]) - len(every.topology.links),  # type: ignore[union-attr]
        result.flows.num_rows,
        compilation,
        prediction,
        running,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        result.traffic()["goodput"].mean,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.4, help="simulated time of each")
    parser.add_argument("--replications", type=int, default=3, help="of errors, at least 2")
    parser.add_argument("--alone", metavar="QUEUES", help="print one as JSON")
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(asdict(measure(arguments.alone, arguments.seconds))))
        return
    rows = []
    for queues in ("all", "bottlenecks"):
        command = [sys.executable, "-m", "benches.hybrid_large", "--alone", queues]
        command += ["--seconds", str(arguments.seconds)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows.append(Row(**json.loads(done.stdout)))
        print(*rows[-1].cells(), sep="; ", flush=True)
    record(
        "hybrid-large", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows])
    )
    errors = []
    for flows, seconds in ERRORS.items():
        errors.append(error(flows, seconds, arguments.replications))
        print(*errors[-1].cells(), sep="; ", flush=True)
    record(
        "hybrid-large-error",
        [asdict(row) for row in errors],
        table(hybrid.HEAD, [row.cells() for row in errors]),
    )


if __name__ == "__main__":
    main()
