"""Remakes docs/attack: the worst traffic that a search finds for each AQM, as data and scenario.

python -m benches.attacks [NAME...]
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marqueue.attack import GOALS, Setting, attack
from marqueue.attack.search import FRESH, MINIMIZING, RANDOM, summary
from marqueue.attack.traffic import read_aqm
from marqueue.cli.console import progress_bar
from marqueue.results.integrity import write_json
from marqueue.scenario import load
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate

OUT = Path(__file__).parents[1] / "docs" / "attack"
#: A search of 240 runs, and what minimizing and comparing take.
BUDGET = 240 + MINIMIZING + 2 * FRESH + RANDOM
AQM, BUFFER = "topology.bottleneck.aqm", "topology.bottleneck.buffer"
FAIR, SHORT, TIMEOUT = f"{AQM}=fq_codel", f"{BUFFER}=50 packets", "transport.default.min_rto=200 ms"


@dataclass(frozen=True)
class Search:
    """An AQM, a goal, and what the attacker has."""

    aqm: str
    goal: str
    share: float
    buffer: str
    ecn: bool = False
    helps: Sequence[str] = ()
    """Changes of the scenario that are measured under the worst traffic."""


SEARCHES: Mapping[str, Search] = {
    "droptail": Search(
        "droptail",
        "utilization",
        0.15,
        "20 packets",
        helps=(FAIR, TIMEOUT, f"{BUFFER}=100 packets"),
    ),
    "codel": Search("codel", "delay", 0.3, "400 packets", helps=(FAIR, SHORT)),
    "pie": Search("pie", "delay", 0.3, "400 packets", helps=(FAIR, SHORT)),
    "avq": Search(
        "avq",
        "utilization",
        0.15,
        "100 packets",
        helps=(FAIR, TIMEOUT, f"{AQM}.buffer=200 packets"),
    ),
    "chokew": Search("chokew", "starvation", 0.3, "400 packets", helps=(FAIR, SHORT)),
    "drq": Search("drq", "delay", 0.3, "1000 packets", ecn=True, helps=(FAIR, SHORT)),
    "mkc": Search(
        "mkc", "utilization", 0.15, "100 packets", helps=(f"{AQM}=drr_mkc", f"{AQM}.delta=200 ms")
    ),
    "scaled": Search("scaled:flows=5", "utilization", 0.15, "100 packets", helps=(FAIR, TIMEOUT)),
}


def main(names: list[str]) -> None:
    OUT.mkdir(exist_ok=True)
    for name in names or list(SEARCHES):
        of = SEARCHES[name]
        setting = Setting(read_aqm(of.aqm), buffer=of.buffer, share=of.share, ecn=of.ecn)
        with progress_bar(name) as progress:
            found = attack(setting, of.goal, budget=BUDGET, progress=progress)
        (OUT / f"{name}.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
        write_json(OUT / f"{name}.json", {**summary(found), "helps": helping(name, setting)})


def helping(name: str, setting: Setting) -> list[dict[str, object]]:
    """The harm, and what the victims lack, under the worst traffic: as it is, with each change."""
    of = SEARCHES[name]
    changes = ("", *of.helps)
    scenarios = [load(OUT / f"{name}.toml", [each] if each else []) for each in changes]
    return [
        {
            "change": change,
            **{
                goal: Estimate.of(GOALS[goal].of(result, setting)).as_dict()
                for goal in dict.fromkeys((of.goal, "starvation"))
            },
        }
        for change, result in zip(changes, run_each(scenarios), strict=True)
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
