"""CPU time and memory by the number of flows, compared with the floor.

    python -m benches.scale [--flows N ...] [--rounds N]

N long-lived Reno flows with ECN, 100 kbit/s each, share one RED bottleneck whose capacity is
proportional to N. Packets have 500 bytes, round-trip times are evenly spaced from 120 to 280 ms,
starts are spread over the first five seconds. A run lasts 10 simulated seconds, or longer if that
would be too few packets to time; with 10^7 flows only 3 s, all starting in half of that, because 10
would take ten minutes. The floor (crates/sim/examples/floor.rs) sends the same number of
packets through the same dumbbell with only the unavoidable work. Programs run in turns, each run in
its own process; the fastest round counts. Measurements, table and picture go to docs/performance.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benches import here
from benches.here import Floor, Run
from benches.record import FOLDER, record, table
from marqueue.ns2.case import Case, Queue
from marqueue.plots import style

FLOWS = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
CLASSES = 160
SHORTEST, LONGEST = 0.120, 0.280
PER_FLOW = 100_000
PACKET = 500
SECONDS = 10.0
JITTER = 5.0
"""Time over which flows start, s: in the second half of the run all are active."""
PACKETS = 5_000_000
"""Smallest number of packets."""
HUGE = 10_000_000
"""So many flows or more run for :data:`BRIEF` seconds."""
BRIEF = 3.0


def case(flows: int) -> Case:
    """The dumbbell of ``flows`` flows."""
    classes = min(flows, CLASSES)
    step = (LONGEST - SHORTEST) / classes
    rate = PER_FLOW * flows
    seconds = BRIEF if flows >= HUGE else max(SECONDS, PACKETS * PACKET * 8 / rate)
    aqm = {
        "name": "red",
        "min_th": f"{flows / 4} packets",
        "max_th": f"{flows * 5 / 4} packets",
        "max_p": 0.1,
        "w_q": 0.0005,
    }
    limit = 3 * flows
    return Case(
        f"{flows} flows",
        Queue("RED", limit, {}, aqm, limit, "ecn"),
        flows=flows,
        rtts=[round(SHORTEST + step * (i + 0.5), 6) for i in range(classes)],
        rate=rate,
        access=max(10 * rate, 1_000_000_000),
        segment=PACKET,
        jitter=min(JITTER, seconds / 2),
        duration=seconds,
        edges=(seconds / 2,),
    )


@dataclass(frozen=True)
class Point:
    """The measurements for ``flows`` flows."""

    flows: int
    here: Run
    floor: Floor

    @property
    def ns(self) -> float:
        """CPU time per packet, ns."""
        return self.here.engine / self.here.packets * 1e9

    @property
    def floor_ns(self) -> float:
        """CPU time per packet of the floor, ns."""
        return self.floor.engine / self.floor.packets * 1e9

    def row(self) -> list[str]:
        run = self.here
        return [
            f"{self.flows:,}",
            f"{run.packets / 1e6:.1f}",
            f"{run.engine:.1f}",
            f"{run.events / run.engine / 1e6:.2f}",
            f"{run.packets / run.engine / 1e6:.2f}",
            f"{self.ns:.0f}",
            f"{self.floor_ns:.0f}",
            f"{self.ns / self.floor_ns:.1f}",
            f"{run.peak_kb / 1024:.0f}",
            f"{run.peak_kb * 1024 / self.flows:.0f}",
            f"{run.utilization:.3f}",
        ]


HEAD = [
    "flows", "million packets", "CPU s", "million events/s", "million packets/s", "ns a packet",
    "floor, ns", "times the floor", "peak, MB", "bytes a flow", "utilization",
]  # fmt: skip


def measure(flows: int, rounds: int) -> Point:
    runs, floors = [], []
    for seed in range(1, rounds + 1):
        run = here.run(case(flows), seed)
        runs.append(run)
        floors.append(here.floor(flows, min(flows, CLASSES), run.packets))
    fastest = min(runs, key=lambda run: run.engine / run.packets)
    return Point(flows, fastest, min(floors, key=lambda floor: floor.engine / floor.packets))


def picture(points: Sequence[Point]) -> str:
    """CPU time per packet of marqueue and of the floor, and memory per flow, by the number of
    flows."""
    figure, [time, memory] = style.panels(2)
    look, floor_look = style.looks(2)
    with style.themed():
        flows = [point.flows for point in points]
        time.plot(flows, [point.ns for point in points], label="here", **look)
        time.plot(flows, [point.floor_ns for point in points], label="floor", **floor_look)
        time.set(xscale="log", ylim=(0, None), ylabel="CPU time a packet [ns]")
        per_flow = [point.here.peak_kb * 1024 / point.flows for point in points]
        memory.plot(flows, per_flow, **look)
        memory.set(yscale="log", xlabel="flows", ylabel="peak memory a flow [bytes]")
    style.legend(time)
    return style.svg(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flows", type=int, nargs="+", default=FLOWS, help="how many flows")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each number of flows")
    arguments = parser.parse_args()
    here.build()
    points = []
    for flows in arguments.flows:
        points.append(measure(flows, arguments.rounds))
        cells = zip(HEAD, points[-1].row(), strict=True)
        print("; ".join(f"{name} {value}" for name, value in cells), flush=True)
    record("scale", [asdict(point) for point in points], table(HEAD, [p.row() for p in points]))
    (FOLDER / "scale.svg").write_text(picture(points))


if __name__ == "__main__":
    main()
