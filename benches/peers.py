"""Speed and memory compared with ns-2 and ns-3.

    python -m benches.peers [--rounds N] [--ns3-share X]

All simulators run the same dumbbells in turns, each run in its own process. marqueue is represented
by its engine without Python (benches/once), built as by `make build` and as by `make fast`, for
which `make bench-peers` has taken the profile. The compared figure is the number of packets through
the bottleneck per second of CPU time: for the whole process, and without set-up. Set-up of the
others is the time before the first event; here it is the time before the engine receives the plan,
so building the network from the plan still counts. The time that one waits is that of a run on two
threads here, and the CPU time of the others, which have one thread. Memory per flow is the
difference of peak memory between many flows and few.

ns-3 simulates a share of the time only, and is skipped where libns3-dev is missing. Measurements
and table go to docs/performance.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benches import here, ns3
from benches.record import record, spread, table
from marqueue import ns2
from marqueue.ns2.case import Case, avq, droptail, red
from marqueue.scenario import compile

SPEED = {
    "i: 100 Mbit/s, 1000 Reno flows, ECN, RED, 500 B, 50 s": Case(
        "i", red(500, 100, 300, packet=500), flows=1000, rate=100_000_000, segment=500,
        jitter=5.0, duration=50.0, edges=(),
    ),
    "ii: 1 Gbit/s, 1000 SACK flows, RED dropping, 1000 B, 20 s": Case(
        "ii", red(2500, 500, 1500, signal="drop"), "sack", ecn=False, flows=1000,
        rate=1_000_000_000, access=10_000_000_000, jitter=5.0, duration=20.0, edges=(),
    ),
    "iii: 10 Mbit/s, 180 Reno flows, ECN, AVQ, 1000 B, 200 s": Case(
        "iii", avq(100), flows=180, duration=200.0, edges=(),
    ),
}  # fmt: skip

OURS = {"here": here.ONCE, "here, fast": here.FAST}
"""The engine as built by `make build` and by `make fast`."""

THREADS = 2
"""Of runs whose time counts."""

FEW, MANY = 1_000, 5_000


def memory_case(flows: int) -> Case:
    """Long flows that have all started; the difference of two numbers gives the memory of a
    flow."""
    return Case(
        f"{flows} flows", droptail(1000), flows=flows, rate=100_000_000, duration=3.0, edges=()
    )


@dataclass(frozen=True)
class Cost:
    """One run."""

    packets: int
    """Packets through the bottleneck."""
    cpu: float
    """User time of the whole process, s."""
    engine: float
    """CPU time without set-up, s."""
    waited: float
    """Time of the run without set-up, on as many threads as it can have, s."""
    peak_kb: int

    @property
    def excluded(self) -> float:
        """Millions of packets per CPU second, set-up excluded."""
        return self.packets / self.engine / 1e6

    @property
    def included(self) -> float:
        """Millions of packets per CPU second, set-up included."""
        return self.packets / self.cpu / 1e6

    @property
    def a_second(self) -> float:
        """Millions of packets per second that one waits, set-up excluded."""
        return self.packets / self.waited / 1e6


Runner = Callable[[Case, int], Cost]


def here_runner(program: Path) -> Runner:
    def run(case: Case, seed: int) -> Cost:
        plan = compile(case.scenario())
        run = here.run_plan(plan, seed, program)
        waited = here.run_plan(plan, seed, program, THREADS).wall
        return Cost(run.packets, run.cpu, run.engine, waited, run.peak_kb)

    return run


def run_ns2(case: Case, seed: int) -> Cost:
    run = ns2.run(case.ns2_arguments(seed))
    engine = run.cpu - run.setup
    return Cost(run.departures, run.cpu, engine, engine, run.peak_kb)


def ns3_runner(program: Path) -> Runner:
    def run(case: Case, seed: int) -> Cost:
        run = ns3.run(program, case, seed)
        engine = run.cpu - run.setup
        return Cost(run.packets, run.cpu, engine, engine, run.peak_kb)

    return run


def in_turns(
    case: Case, runners: Mapping[str, Runner], rounds: int, shares: Mapping[str, float]
) -> dict[str, list[Cost]]:
    """``rounds`` runs of each simulator."""
    costs: dict[str, list[Cost]] = {name: [] for name in runners}
    for seed in range(1, rounds + 1):
        for name, run in runners.items():
            duration = case.duration * shares.get(name, 1.0)
            costs[name].append(run(replace(case, duration=duration), seed))
    return costs


def rows(name: str, costs: Mapping[str, list[Cost]]) -> list[list[str]]:
    """Packet rates, and their ratios to the other simulators."""
    made = []
    for what, label in (
        ("excluded", f"{name}; set-up excluded"),
        ("included", "set-up included"),
        ("a_second", f"a second that one waits, {THREADS} threads here; set-up excluded"),
    ):
        rates = {side: [getattr(cost, what) for cost in each] for side, each in costs.items()}
        ratios = [
            spread([a / b for a, b in zip(rates[ours], rates[other], strict=True)], 1)
            for ours, other in pairs(rates)
        ]
        made.append([label, *(spread(each, 3) for each in rates.values()), *ratios])
    return made


def pairs(sides: Iterable[str]) -> list[tuple[str, str]]:
    """Each build of marqueue relative to each other simulator."""
    sides = list(sides)
    return [(ours, other) for other in sides for ours in OURS if other not in OURS]


def bytes_a_flow(run: Runner) -> float:
    peaks = [run(memory_case(flows), 1).peak_kb for flows in (FEW, MANY)]
    return 1024 * (peaks[1] - peaks[0]) / (MANY - FEW)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each case on each side")
    parser.add_argument("--ns3-share", type=float, default=0.2, help="of the time, for ns-3")
    arguments = parser.parse_args()
    ns2.install()
    here.build()
    runners: dict[str, Runner] = {name: here_runner(program) for name, program in OURS.items()}
    runners["ns-2"] = run_ns2
    with tempfile.TemporaryDirectory() as directory:
        if ns3.installed():
            runners["ns-3"] = ns3_runner(ns3.build(Path(directory)))
        else:
            print(f"ns-3 is left out: {ns3.PACKAGE} is not installed")
        shares = {"ns-3": arguments.ns3_share}
        measured = {
            name: in_turns(case, runners, arguments.rounds, shares) for name, case in SPEED.items()
        }
        memory = {side: bytes_a_flow(run) for side, run in runners.items()}
    head = ["millions of packets a CPU second: minimum / median / maximum", *runners]
    head += [f"{ours} / {other}" for ours, other in pairs(runners)]
    body = [row for name, costs in measured.items() for row in rows(name, costs)]
    body.append(["memory per flow, bytes", *(f"{each:.0f}" for each in memory.values())])
    body[-1] += [f"1 / {memory[other] / memory[ours]:.0f}" for ours, other in pairs(runners)]
    runs = {
        name: {side: [asdict(cost) for cost in each] for side, each in costs.items()}
        for name, costs in measured.items()
    }
    record("peers", {"runs": runs, "bytes a flow": memory}, table(head, body))


if __name__ == "__main__":
    main()
