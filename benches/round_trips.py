"""What a round-trip time of its own for each flow costs, in CPU time and in memory.

    python -m benches.round_trips [--rounds N] [--flows N]

Dumbbell (i) of `make bench-peers` with 1000 flows runs with ten classes of round-trip times and
with a draw for each flow from a uniform distribution of the same range, in turns, each run in its
own process. Then ``--flows`` flows (a million) with a delay each run for six seconds, for the peak
of memory. Measurements and table go to docs/performance.
"""

import argparse
import statistics
from dataclasses import asdict, replace

from benches import here
from benches.peers import SPEED
from benches.record import record, spread, table
from benches.scale import LONGEST, SHORTEST, case
from marqueue.ns2.case import Case
from marqueue.scenario import compile, with_overrides

#: Evenly spaced, s.
CLASSES = [0.04 + 0.01 * i for i in range(10)]
#: Simulated time of the run for memory, s: all flows have started by 5 s.
SECONDS = 6
TARGET, TARGET_BYTES = 0.8, 1200
"""Least share of the speed with ten classes, and most bytes a flow."""


def drawn(case: Case, shortest: float, longest: float, *more: str) -> dict[str, object]:
    """The plan of a case with a round-trip time for each flow, s."""
    law = f'topology.rtts={{ uniform = ["{shortest:g} s", "{longest:g} s"] }}'
    return compile(with_overrides(case.scenario(), [law, *more]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=25, help="pairs of runs")
    parser.add_argument("--flows", type=int, default=1_000_000, help="of the run for memory")
    arguments = parser.parse_args()
    here.build()
    given = next(case for name, case in SPEED.items() if name.startswith("i:"))
    plans = {
        "ten classes": compile(replace(given, rtts=CLASSES).scenario()),
        "one each": drawn(given, CLASSES[0], CLASSES[-1]),
    }
    runs: dict[str, list[here.Run]] = {name: [] for name in plans}
    for seed in range(1, arguments.rounds + 1):
        for name, plan in plans.items():
            runs[name].append(here.run_plan(plan, seed, here.ONCE))
    ns = {name: [1e9 * run.engine / run.packets for run in each] for name, each in runs.items()}
    shares = [a / b for a, b in zip(ns["ten classes"], ns["one each"], strict=True)]
    fastest = min(ns["ten classes"]) / min(ns["one each"])
    many = here.run_plan(
        drawn(case(arguments.flows), SHORTEST, LONGEST, f'duration="{SECONDS} s"', "cuts=[]"),
        1,
        here.ONCE,
    )
    each = many.peak_kb * 1024 / arguments.flows
    rows = [
        [f"1000 flows, {name}: ns a packet, minimum / median / maximum", spread(values, 0)]
        for name, values in ns.items()
    ]
    rows += [
        [f"speed with one each over ten classes, fastest runs (target {TARGET})", f"{fastest:.2f}"],
        ["the same, median of the pairs", f"{statistics.median(shares):.2f}"],
        [
            f"{arguments.flows:,} flows, one each: bytes a flow (target {TARGET_BYTES})",
            f"{each:.0f}",
        ],
    ]
    measured = {name: [asdict(run) for run in of] for name, of in runs.items()}
    record("round-trips", measured | {"memory": asdict(many)}, table(["", ""], rows))


if __name__ == "__main__":
    main()
