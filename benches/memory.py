"""The memory that the formula of ``crates/sim/src/estimate.rs`` predicts, beside what runs take.

    python -m benches.memory

By this formula runs beyond memory are refused. Each run is the engine's alone, in a process of its
own. *PIE*: one bottleneck, round trips of 100 ms, flows that start within 2 s, 4 or 8 s.
Measurements and table go to docs/performance.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import marqueue._core as _core
from benches import here, scale
from benches.estimate import dumbbell
from benches.peers import SPEED
from benches.record import record, table
from marqueue.scenario import Scenario, compile

HEAD = ("set-up", "flows", "predicted, MB", "peak, MB", "ratio")


@dataclass(frozen=True)
class Row:
    """A set-up, and its memory in bytes."""

    name: str
    flows: int
    predicted: float
    peak: float

    def cells(self) -> list[str]:
        """The row of the table."""
        megabytes = [f"{each / 1e6:.3g}" for each in (self.predicted, self.peak)]
        return [self.name, f"{self.flows:,}", *megabytes, f"{self.predicted / self.peak:.2f}"]


def set_ups() -> Iterator[tuple[str, int, Scenario]]:
    """The name of each, its flows and its scenario."""
    for name, case in SPEED.items():
        yield f"({name.split(':')[0]})", case.flows, case.scenario()
    for flows in (10_000, 100_000, 1_000_000):
        case = replace(scale.case(flows), duration=3.0, edges=(1.5,), jitter=1.5)
        yield "bench-scale, 3 s", flows, case.scenario()
    for preset, flows, each, seconds in (
        ("rfc", 10_000, 0.1, 8.0),
        ("rfc", 100_000, 0.1, 8.0),
        ("linux", 1000, 0.1, 8.0),
        ("linux", 10_000, 0.1, 8.0),
        ("linux", 100_000, 0.1, 8.0),
        ("linux", 10_000, 1.0, 8.0),
        ("linux", 100, 100.0, 8.0),
        ("linux", 200_000, 0.01, 4.0),
        ("linux", 200_000, 0.03, 4.0),
        ("linux", 200_000, 0.3, 4.0),
        ("linux", 1_000_000, 0.01, 4.0),
        ("linux", 1_000_000, 0.1, 4.0),
    ):
        rate = f"{each * 1e3:g} kbit/s" if each < 1 else f"{each:g} Mbit/s"
        scenario = dumbbell(preset, flows, each, 1.0, seconds)
        yield f"preset {preset}, PIE, {rate} each, {seconds:g} s", flows, scenario


def main() -> None:
    here.build()
    rows = []
    for name, flows, scenario in set_ups():
        plan = compile(scenario)
        predicted = _core.estimated_bytes(json.dumps(plan), rows_leave=False)
        peak = 1024.0 * here.run_plan(plan, 1, here.ONCE).peak_kb
        rows.append(Row(name, flows, predicted, peak))
        print(*rows[-1].cells(), sep="; ", flush=True)
    record("memory", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows]))


if __name__ == "__main__":
    main()
