"""The small-buffer paper's dumbbell with up to a million flows.

    python -m benches.small_buffer [--flows N ...] [--schemes NAME ...]

Runs experiment 4 of the paper, one replication with sampled windows, each in its own process, and
reports CPU time, memory, and the figures of the link. A million flows take about 25 million packets
per simulated second; all runs take about half an hour.
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benches.record import table
from marqueue import run
from marqueue.papers import PAPERS
from marqueue.papers.small_buffer.setups import CURVES, GROUP, dumbbell

FLOWS = (10_000, 100_000, 1_000_000)
CHOICE = PAPERS["small-buffer"].main_choice("4")


@dataclass(frozen=True)
class Point:
    """Measurements for a number of flows."""

    scheme: str
    flows: int
    packets: int
    cpu: float
    """CPU time of the process, s."""
    peak_kb: int
    utilization: float
    delay_ms: float
    loss: float
    h: float

    def row(self) -> list[str]:
        return [
            self.scheme,
            f"{self.flows:,}",
            f"{self.packets / 1e6:.1f}",
            f"{self.cpu:.1f}",
            f"{self.cpu / self.packets * 1e9:.0f}",
            f"{self.peak_kb / 1024:.0f}",
            f"{self.utilization:.4f}",
            f"{self.delay_ms:.4f}",
            f"{self.loss:.5f}",
            f"{self.h:.1f}",
        ]


HEAD = [
    "scheme", "flows", "million packets", "CPU s", "ns a packet", "peak, MB", "utilization",
    "delay, ms", "loss ratio", "h",
]  # fmt: skip


def measure(scheme: str, flows: int) -> Point:
    """One run."""
    started = time.process_time()
    result = run(dumbbell(scheme, flows, CHOICE), jobs=1)
    cpu = time.process_time() - started
    link, [cwnds] = result.link(), result.cwnds(group=GROUP)
    figures = {name: float(link.values(name)[0]) for name in ("utilization", "loss_ratio")}
    [window] = link.windows()
    sent = result.run_totals()["sent"].mean
    return Point(
        scheme,
        flows,
        int(sent),
        cpu,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        figures["utilization"],
        window.delays.mean * 1e3,
        figures["loss_ratio"],
        cwnds.dependence,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flows", type=int, nargs="+", default=FLOWS, help="how many flows")
    parser.add_argument("--schemes", nargs="+", default=["RED1", "EXP"], choices=list(CURVES))
    arguments = parser.parse_args()
    points = []
    for scheme in arguments.schemes:
        for flows in arguments.flows:
            with ProcessPoolExecutor(1) as fresh:
                points.append(fresh.submit(measure, scheme, flows).result())
            cells = zip(HEAD, points[-1].row(), strict=True)
            print("; ".join(f"{name} {value}" for name, value in cells), flush=True)
    print(table(HEAD, [point.row() for point in points]))


if __name__ == "__main__":
    main()
