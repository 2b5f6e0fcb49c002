"""A paper: a folder with its claims, its set-ups and what is measured of them.

paper.toml        who, what, where; the experiments
claims.toml       what the paper says, as data (claims.py)
ledger.toml       what does not reproduce, and why (ledger.py)
reference.toml    numbers of a reference simulator, if there are any (ledger.py)
scenarios/        the set-ups, ordinary scenario files
experiment_N.py   EXPERIMENT: variations of the set-ups, measures, figures
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from marqueue.scenario import Scenario

if TYPE_CHECKING:
    from marqueue.papers.drawn import PaperFigure, PaperTable
    from marqueue.papers.quantity import Quantities, Runs

#: Replications of every set-up: enough for intervals, and enough for narrow ones.
QUICK, FULL = 4, 10


@dataclass(frozen=True)
class Experiment:
    """What is run, measured and drawn for one experiment of a paper."""

    readings: Sequence[str]
    """What the paper leaves open and how it is read here."""
    setups: Callable[[], Mapping[str, Scenario]]
    """What is run, by name."""
    measure: Callable[[Runs], Quantities]
    """What claims and ledger speak of."""
    draw: Callable[[Runs, Quantities], Sequence[PaperFigure | PaperTable]]
    """The paper's figures and tables."""
    full: Callable[[], Mapping[str, Scenario]] = dict
    """What is run in the full form alone, by name, with replications of its own: set-ups that take
    too long for the quick form or for as many replications."""
    found: Sequence[str] = ()
    """What came out, in paragraphs, where it is not the paper's to say."""


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments."""

    folder: Path
    title: str
    """What it is called."""
    source: str
    """Authors, where and when."""
    experiments: Mapping[str, str]
    """What each experiment is about, by its number in the paper."""

    @classmethod
    def read(cls, path: Path) -> Paper:
        """The paper that a paper.toml describes."""
        return cls(folder=path.parent, **tomllib.loads(path.read_text(encoding="utf-8")))

    @property
    def key(self) -> str:
        """What it is called on the command line."""
        return self.folder.name.replace("_", "-")

    def experiment(self, number: str) -> Experiment:
        """One of its experiments."""
        module = importlib.import_module(f"{__package__}.{self.folder.name}.experiment_{number}")
        experiment: Experiment = module.EXPERIMENT
        return experiment


def replicated(scenario: Scenario, replications: int) -> Scenario:
    """The scenario with so many replications."""
    return scenario.model_copy(update={"replications": replications})
