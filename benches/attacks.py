"""Remakes docs/attack: the worst traffic that a search finds for each AQM, as data and scenario.

python -m benches.attacks [NAME...]
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marqueue.attack import Setting, attack
from marqueue.attack.search import summary
from marqueue.attack.traffic import read_aqm
from marqueue.cli.console import progress_bar
from marqueue.results.integrity import write_json

OUT = Path(__file__).parents[1] / "docs" / "attack"
BUDGET = 240


@dataclass(frozen=True)
class Search:
    """An AQM, a goal, and what the attacker has."""

    aqm: str
    goal: str
    share: float
    buffer: str
    ecn: bool = False


SEARCHES: Mapping[str, Search] = {
    "droptail": Search("droptail", "utilization", 0.15, "20 packets"),
    "codel": Search("codel", "delay", 0.3, "400 packets"),
    "pie": Search("pie", "delay", 0.3, "400 packets"),
    "avq": Search("avq", "utilization", 0.15, "100 packets"),
    "chokew": Search("chokew", "starvation", 0.3, "400 packets"),
    "drq": Search("drq", "delay", 0.3, "1000 packets", ecn=True),
    "mkc": Search("mkc", "utilization", 0.15, "100 packets"),
    "scaled": Search("scaled:flows=5", "utilization", 0.15, "100 packets"),
}


def main(names: list[str]) -> None:
    OUT.mkdir(exist_ok=True)
    for name in names or list(SEARCHES):
        of = SEARCHES[name]
        setting = Setting(read_aqm(of.aqm), buffer=of.buffer, share=of.share, ecn=of.ecn)
        with progress_bar(name) as progress:
            found = attack(setting, of.goal, budget=BUDGET, progress=progress)
        write_json(OUT / f"{name}.json", summary(found))
        (OUT / f"{name}.toml").write_text(found.scenario.to_toml(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
