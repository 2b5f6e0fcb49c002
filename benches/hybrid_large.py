"""Networks of 10,000 and 100,000 links, with all queues and with those of bottlenecks.

    python -m benches.hybrid_large [--replications N]

First a million flows, each run in a process of its own, from the scenario to the result: CPU time
and memory. Then errors in the smaller network as in benches/hybrid, of a million flows, most of
whose windows are below a packet, and of a hundred thousand; none with ``--replications 0``.
Measurements and tables go to docs/performance.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from benches import hybrid
from benches.hybrid_networks import long_flows, random_values
from benches.record import record, table
from marqueue import run
from marqueue.scenario import compile, from_dict, plan_text, with_overrides
from marqueue.scenario.hybrid import with_models
from marqueue.scenario.topology import Graph

HEAD = (
    "links",
    "queues",
    "links with packets",
    "wires",
    "million flows",
    "reading, CPU s",
    "compilation, CPU s",
    "of it the prediction",
    "run to the result, CPU s",
    "peak, MB",
    "million packets at queues",
    "goodput, Gbit/s",
)
STARTS = "0.2 s"
"""The time within which all flows start."""
FLOWS = 1_000_000


@dataclass(frozen=True)
class Size:
    """How large a network is, and what time is simulated."""

    nodes: int
    edges: int
    """Each is two links."""
    pairs: int
    seconds: float

    def values(self, flows: int, seconds: float | None = None) -> dict[str, Any]:
        """The network with all queues, of which the second half of the time is measured."""
        seconds = seconds or self.seconds
        return random_values(
            self.nodes,
            self.edges,
            long_flows(flows, STARTS),
            pairs=self.pairs,
            seconds=seconds,
            warmup=seconds / 2,
            rates=(100, 200, 400),
        )


SIZES = {
    "10,000": Size(nodes=2500, edges=5000, pairs=100_000, seconds=0.4),
    "100,000": Size(nodes=25_000, edges=50_000, pairs=200_000, seconds=0.4),
}
SMALLER, *_ = SIZES.values()
ERRORS = {FLOWS: 1.0, 100_000: 3.0}
"""Flows of the runs whose errors are measured, and their simulated time, s: the second half
counts."""


@dataclass(frozen=True)
class Row:
    """A run of a network."""

    links: str
    """A key of :data:`SIZES`."""
    queues: str
    queued: int
    """Links with queues that packets enter."""
    wires: int
    flows: int
    reading: float
    """CPU time from the values to the checked scenario, with its routes and a compilation, s."""
    compilation: float
    """CPU time from the checked scenario to the plan, s."""
    prediction: float
    """Part of it for the prediction and the wires, s."""
    running: float
    """CPU time of the engine and the tables of the result, s."""
    peak_kb: int
    packets: int
    """Those that arrived at queues, counted at each."""
    goodput: float
    """Of all flows after the warm-up, bit/s."""

    def cells(self) -> list[str]:
        """The row of the table."""
        return [
            self.links,
            self.queues,
            f"{self.queued:,}",
            f"{self.wires:,}",
            f"{self.flows / 1e6:g}",
            f"{self.reading:.1f}",
            f"{self.compilation:.1f}",
            f"{self.prediction:.1f}",
            f"{self.running:.1f}",
            f"{self.peak_kb / 1e3:.0f}",
            f"{self.packets / 1e6:.0f}",
            f"{self.goodput / 1e9:.1f}",
        ]


def error(flows: int, seconds: float, replications: int) -> hybrid.Row:
    """The errors of hybrid runs."""
    scenario = from_dict(SMALLER.values(flows, seconds))
    every = hybrid.run(scenario, range(1, replications + 1))
    other = hybrid.run(scenario, range(replications + 1, 2 * replications + 1))
    name = f"10,000 links, {flows:,} flows, {seconds:g} s"
    return hybrid.compare(name, hybrid.DEFAULT, every, other, scenario)


def measure(links: str, queues: str) -> Row:
    """One run, in this process."""
    values = SIZES[links].values(FLOWS)
    began = time.process_time()
    every = from_dict(values)
    reading = time.process_time() - began
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
        links,
        queues,
        len(result.links),
        len(plan["links"]) - len(every.topology.links),  # type: ignore[union-attr]
        result.flow_count,
        reading,
        compilation,
        prediction,
        running,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        int(np.sum(result.tables["windows"]["arrivals"].to_numpy())),
        result.traffic()["goodput"].mean,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=3, help="of errors: 0, or at least 2")
    parser.add_argument("--alone", nargs=2, metavar=("LINKS", "QUEUES"), help="print one as JSON")
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(asdict(measure(*arguments.alone))))
        return
    rows = []
    for links, queues in product(SIZES, ("all", "bottlenecks")):
        command = [sys.executable, "-m", "benches.hybrid_large", "--alone", links, queues]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows.append(Row(**json.loads(done.stdout)))
        print(*rows[-1].cells(), sep="; ", flush=True)
    record(
        "hybrid-large", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows])
    )
    if not arguments.replications:
        return
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
