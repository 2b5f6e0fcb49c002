"""What an AQM costs that is a class in Python, interpreted and compiled, beside the same in Rust.

    python -m benches.programs [--rounds N]

PI2 at 100 Mbit/s with sixty flows: drop-tail, in Rust, with Numba and in Python, in turns, each run
the engine's CPU time in this process. The packets of the three are the same. Measurements and table
go to docs/performance.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import marqueue._core as _core
from benches.record import record, table
from marqueue.scenario import compile, load

ROOT = Path(__file__).parents[1]
#: A round of the interpreted class, which takes the longest, in so many.
RARELY = 5
CHANGES = (
    "topology.bottleneck.rate=100 Mbit/s",
    "topology.bottleneck.buffer=1000 packets",
    "replications=1",
)
PI2 = '''
import marqueue
from marqueue import MARK, PASS


@marqueue.aqm{options}
class Pi2:
    """PI2 of RFC 9332, appendix A, for senders without L4S: crates/aqm/src/algo/pi2.rs."""

    p = marqueue.probe("fraction")
    target, rtt_max = 0.015, 0.1
    t_update = alpha = beta = delay = 0.0

    def start(self, queue):
        self.t_update = min(self.target, self.rtt_max / 3)
        self.alpha = 0.1 * self.t_update / (self.rtt_max * self.rtt_max)
        self.beta = 0.3 / self.rtt_max
        return self.t_update

    def on_timer(self, queue, now):
        delay = queue.delay
        step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay)
        self.p = min(max(self.p + step, 0.0), 1.0)
        self.delay = delay
        return self.t_update

    def on_departure(self, packet, queue, now):
        p = self.p
        if p > 0.0 and queue.uniform() < p * p:
            return MARK
        return PASS
'''


def plans(folder: Path) -> dict[str, str]:
    """The plan of each kind, as JSON."""
    text = (ROOT / "scenarios" / "dumbbell.toml").read_text(encoding="utf-8")
    (folder / "dumbbell.toml").write_text(text, encoding="utf-8")
    for name, options in {"interpreted": "", "compiled": "(jit=True)"}.items():
        source = PI2.replace("{options}", options)
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    kinds = {
        "drop-tail, no AQM": "droptail",
        "in Rust": "pi2",
        "with Numba (`jit=True`)": "python:compiled.py:Pi2",
        "in Python": "python:interpreted.py:Pi2",
    }
    return {
        name: json.dumps(
            compile(load(folder / "dumbbell.toml", [*CHANGES, f"topology.bottleneck.aqm={aqm}"]))
        )
        for name, aqm in kinds.items()
    }


def packets(result: dict[str, Any]) -> int:
    """Packets that arrived at the bottleneck."""
    return sum(window["arrivals"] for window in result["links"][0]["windows"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given = plans(Path(folder))
        costs: dict[str, list[float]] = {name: [] for name in given}
        seen = {}
        for n in range(arguments.rounds + 1):
            for name, plan in given.items():
                if name == "in Python" and n % RARELY:
                    continue
                begun = time.thread_time()
                result = _core.run(plan, 1, _core.Control(), None, 1)
                spent = time.thread_time() - begun
                seen[name] = packets(result)
                # The first round compiles.
                if n:
                    costs[name].append(1e9 * spent / seen[name])
    if len({count for name, count in seen.items() if "no AQM" not in name}) > 1:
        raise RuntimeError(f"the three do not have the same packets: {seen}")
    least = {name: min(each) for name, each in costs.items()}
    base = least["drop-tail, no AQM"]
    own = least["in Rust"]
    rows = [
        [
            name,
            f"{least[name]:.0f}",
            f"{statistics.median(costs[name]):.0f}",
            "" if least[name] == base else f"{least[name] - base:.0f}",
            f"{least[name] / own:.2f}",
        ]
        for name in given
    ]
    head = ("PI2", "ns a packet, least", "median", "beyond drop-tail", "times Rust's run")
    record("programs", costs, table(head, rows))


if __name__ == "__main__":
    main()
