"""Where the error of hybrid runs comes from, in an overloaded network.

    python -m benches.hybrid_phases [--replications N] [--network NAME]

Links right before bottlenecks are modelled or not, which shows how much comes from packets of
different flows that meet at a bottleneck and would not.

With constant delays, losses hit the same flows again and again, and which flows that is depends on
every detail of a network. So delays vary here: only those of the wires that stand for modelled
links, in place of their mean waits, or those of all links, in both kinds of run. What is left of
the error then is not of phases. Measurements and table go to docs/performance.
"""

import argparse
import copy
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import marqueue._core as _core
from benches.hybrid import DEFAULT, FLOWS, NETWORKS, Ran
from benches.record import record, table
from marqueue.scenario import compile, with_overrides
from marqueue.scenario.compilation import Plan

OVERLOADED = "1000 links, overloaded"
JITTER = 0.001
"""Mean of what is added to the delay of each link in the last rows, s."""
HEAD = ("delays", "runs", "median error", "95%", "variance of ln ratio", "less chance")


def varied(plan: Plan, jitter: float, waits: bool) -> Plan:
    """The plan with exponential delays, in order, added to those of links.

    ``jitter`` is their mean at each link, s; a wire has that of all links for which it stands. With
    ``waits`` a wire also waits so long as the model says on average, instead of always.
    """
    plan = copy.deepcopy(plan)
    for link in plan["links"]:
        wire, mean = link.get("model", {}).get("wire"), jitter
        if wire:
            mean = jitter * len(wire["links"])
            if waits:
                wait = sum(plan["links"][i]["model"]["link"]["wait"] for i in wire["links"])
                link["delay"] = max(0, link["delay"] - wait)
                mean += wait / 1e9
        if mean > 0:
            link["pipe"] = {"jitter": {"mean": mean, "distribution": "exponential"}}
    return plan


def run(plan: Plan, seeds: Sequence[int]) -> Ran:
    """Runs a plan with each seed, as many at once as there are processors."""
    text = json.dumps(plan)

    def of(seed: int) -> Any:
        return _core.run(text, seed, _core.Control(), {})

    with ThreadPoolExecutor() as pool:
        return Ran(plan, list(pool.map(of, seeds)), [])


@dataclass(frozen=True)
class Row:
    """The goodputs of classes in two sets of runs, as ratios of their means over replications."""

    delays: str
    runs: str
    median: float
    """Of the relative errors, without signs."""
    most: float
    """Their 95% quantile."""
    variance: float
    """Of the logarithms of the ratios."""
    chance: float | None
    """That of two sets of runs that differ by their seeds only."""

    def cells(self) -> list[str]:
        """The row of the table."""
        less = "" if self.chance is None else f"{self.variance - self.chance:.3f}"
        errors = (f"{self.median:.1%}", f"{self.most:.1%}", f"{self.variance:.3f}")
        return [self.delays, self.runs, *errors, less]


def compare(delays: str, runs: str, one: Ran, other: Ran, chance: Row | None) -> Row:
    """The row of two sets of runs."""
    counted = one.flows() >= FLOWS
    ratio = other.goodputs().mean(axis=0)[counted] / one.goodputs().mean(axis=0)[counted]
    error = np.abs(ratio - 1)
    return Row(
        delays,
        runs,
        float(np.median(error)),
        float(np.quantile(error, 0.95)),
        float(np.var(np.log(ratio))),
        None if chance is None else chance.variance,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=16, help="of each")
    names = [each.name for each in NETWORKS]
    parser.add_argument("--network", choices=names, default=OVERLOADED)
    arguments = parser.parse_args()
    n = arguments.replications
    [scenario] = [each.scenario() for each in NETWORKS if each.name == arguments.network]
    every = compile(scenario)
    hybrids = {
        "bottlenecks": DEFAULT._replace(upstream_from=1.0),
        "bottlenecks and busy links before them": DEFAULT,
    }
    rows = []
    for delays, jitter in (("constant", 0.0), ("of all links vary", JITTER)):
        full = varied(every, jitter, waits=False)
        one = run(full, range(1, n + 1))
        by_chance = compare(
            delays, "all packets, other seeds", one, run(full, range(n + 1, 2 * n + 1)), None
        )
        rows.append(by_chance)
        print(*by_chance.cells(), sep="; ", flush=True)
        for what, thresholds in hybrids.items():
            plan = compile(with_overrides(scenario, thresholds.overrides()))
            for of_wires, waits in (("", False), (", waits of wires vary", True)):
                other = run(varied(plan, jitter, waits), range(1, n + 1))
                rows.append(compare(delays, f"{what}{of_wires}", one, other, by_chance))
                print(*rows[-1].cells(), sep="; ", flush=True)
    if arguments.network == OVERLOADED:
        record(
            "hybrid-phases", [asdict(row) for row in rows], table(HEAD, [r.cells() for r in rows])
        )


if __name__ == "__main__":
    main()
