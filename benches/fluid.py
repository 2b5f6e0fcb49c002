"""Time to solve ten thousand fluid models on all processors, and one of them alone.

    python -m benches.fluid [MODELS]

Reno of one class over AVQ, 60 s: the parameters of a stability map (alpha, gamma, flows, delay).
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from marqueue.theory.fluid.batch import batch
from marqueue.theory.fluid.model import Model, Observables

TIMES = np.linspace(0, 60, 121)


def models(count: int) -> list[dict[str, Any]]:
    """Drawn uniformly."""
    rng = np.random.default_rng(1)
    return [
        _model(*values)
        for values in rng.uniform((0.05, 0.9, 20, 0.05), (1, 1, 90, 0.3), (count, 4))
    ]


def _model(alpha: float, gamma: float, flows: float, rtt: float) -> dict[str, Any]:
    aqm = {"name": "avq", "alpha": alpha, "gamma": gamma, "initial": 1.0}
    link = {"name": "link", "capacity": 1250.0, "buffer": 100.0, "signal": "ecn", "aqm": aqm}
    law = {"name": "reno", "decrease": 0.5, "max_window": 1e6}
    flow = {"name": "long", "count": flows, "law": law, "rtt": rtt, "route": [{"link": 0}]}
    return {"links": [link], "classes": [flow | {"initial": 1.0}]}


def main() -> None:
    """Prints both times."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    every = models(count)
    started = time.perf_counter()
    found = batch(every, TIMES)
    taken = time.perf_counter() - started
    solved = sum(isinstance(each, Observables) for each in found)
    print(f"{count} models on {os.cpu_count()} processors: {taken:.3g} s, {solved} solved")
    alone = every[:100]
    started = time.perf_counter()
    steps = sum(Model(each).integrate(TIMES).steps for each in alone)
    taken = time.perf_counter() - started
    each = f"{1e3 * taken / len(alone):.3g} ms and {steps / len(alone):.0f} steps each"
    print(f"one after the other: {each}")


if __name__ == "__main__":
    main()
