"""Networks of 10,000 and 100,000 links, with all queues and with those of bottlenecks.

    python -m benches.hybrid_large [--replications N] [--errors-of NAME]

First a million flows, each run in a process of its own, from the scenario to the result: CPU time
and memory. Then errors as in benches/hybrid: in the smaller network of a million flows, most of
whose windows are below a packet, and of a hundred thousand, and in the larger one of a million;
none with ``--replications 0``. Measurements and tables go to docs/performance. With --errors-of,
only these errors are measured again and all else is left as it is.
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
from benches.record import FOLDER, record, table
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


@dataclass(frozen=True)
class Compared:
    """Runs whose errors are measured."""

    links: str
    """A key of :data:`SIZES`."""
    flows: int
    seconds: float
    """Simulated; the second half counts."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"{self.links} links, {self.flows:,} flows, {self.seconds:g} s"

    def row(self, replications: int) -> hybrid.Row:
        """The errors of hybrid runs."""
        scenario = from_dict(SIZES[self.links].values(self.flows, self.seconds))
        every = hybrid.run(scenario, range(1, replications + 1))
        other = hybrid.run(scenario, range(replications + 1, 2 * replications + 1))
        return hybrid.compare(self.name, hybrid.DEFAULT, every, other, scenario)


ERRORS = (
    Compared("10,000", FLOWS, 1.0),
    Compared("10,000", 100_000, 3.0),
    Compared("100,000", FLOWS, 0.8),
)


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
    parser.add_argument("--errors-of", choices=[each.name for each in ERRORS])
    parser.add_argument("--alone", nargs=2, metavar=("LINKS", "QUEUES"), help="print one as JSON")
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(asdict(measure(*arguments.alone))))
        return
    if arguments.errors_of is None:
        measure_costs()
    if arguments.replications:
        measure_errors(arguments.replications, arguments.errors_of)


def measure_costs() -> None:
    """Records what each run takes."""
    rows = []
    for links, queues in product(SIZES, ("all", "bottlenecks")):
        command = [sys.executable, "-m", "benches.hybrid_large", "--alone", links, queues]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows.append(Row(**json.loads(done.stdout)))
        print(*rows[-1].cells(), sep="; ", flush=True)
    record(
        "hybrid-large", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows])
    )


def measure_errors(replications: int, only: str | None) -> None:
    """Records errors; with ``only`` the others are left as they are."""
    known: dict[str, hybrid.Row] = {}
    if only:
        kept = json.loads((FOLDER / "hybrid-large-error.json").read_text())
        known = {each["network"]: hybrid.Row(**each) for each in kept}
    for compared in ERRORS:
        if only in (None, compared.name):
            known[compared.name] = compared.row(replications)
            print(*known[compared.name].cells(), sep="; ", flush=True)
    rows = [known[each.name] for each in ERRORS if each.name in known]
    record(
        "hybrid-large-error",
        [asdict(row) for row in rows],
        table(hybrid.HEAD, [row.cells() for row in rows]),
    )


if __name__ == "__main__":
    main()
