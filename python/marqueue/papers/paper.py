"""A paper: a folder with claims, set-ups and measures.

paper.toml        title, source, and experiments
claims.toml       what the paper says, as data (claims.py)
ledger.toml       what does not reproduce, and why (ledger.py)
readings.toml     what the paper leaves open, with alternatives (readings.py)
reference.toml    numbers of a reference simulator, if there are any (ledger.py)
scenarios/        the set-ups as ordinary scenario files
experiment_N.py   EXPERIMENT: variations of the set-ups, measures, figures
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from marqueue.papers.readings import MAIN, Choice, Reading, main_choice, read_readings
from marqueue.scenario import Scenario

if TYPE_CHECKING:
    from marqueue.papers.figures import PaperFigure, PaperTable
    from marqueue.papers.quantity import Quantities, Runs

#: Replications of every set-up in the quick form, and at first in the full form.
QUICK, FULL = 4, 10
#: In the full form, replications at most of a set-up whose comparisons are not decided with fewer.
#: They double from the first, which makes three looks. Four times the replications halve an
#: interval; what is not decided then is too near to its bound for any affordable number.
MOST = 40
#: Probability that the interval of a comparison misses the true value at any look.
ERROR = 0.05


@dataclass(frozen=True)
class Form:
    """How a paper is reproduced."""

    quick: bool = False
    """Whether set-ups have fewer replications, and some are shorter (:attr:`Experiment.quick`)."""
    readings: str = MAIN
    """How what the paper leaves open is read, as for :func:`marqueue.papers.readings.choices`."""
    most_replications: int | None = None
    """Replications at most of a set-up, at least those of the first look; by default :data:`MOST`
    in the full form, and no more than the first in the quick form."""

    @property
    def first(self) -> int:
        """Replications of every set-up at the first look."""
        return QUICK if self.quick else FULL

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of replications with which comparisons are judged, in order."""
        looks, most = [self.first], self.most_replications or (QUICK if self.quick else MOST)
        while looks[-1] < most:
            looks.append(min(2 * looks[-1], most))
        return tuple(looks)

    @property
    def confidence(self) -> float:
        """Confidence of the intervals at each look, so that all looks together keep 95%
        (Bonferroni)."""
        return 1 - ERROR / len(self.looks)


@dataclass(frozen=True)
class Experiment:
    """The runs, measures and figures of one experiment of a paper.

    They are functions of the choice of readings. Under a reading either the scenarios differ or
    only what is measured in them; scenarios that do not differ run once.
    """

    readings: Sequence[str]
    """How the paper is read where no alternative is tried."""
    setups: Callable[[Choice], Mapping[str, Scenario]]
    """The scenarios to run, by name; :func:`theory_alone` if there are none."""
    measure: Callable[[Runs, Choice], Quantities]
    """Computes the quantities used by claims and ledger."""
    draw: Callable[[Runs, Quantities, Choice], Sequence[PaperFigure | PaperTable]]
    """Draws the figures and tables of the paper."""
    full: Callable[[Choice], Mapping[str, Scenario]] = lambda _choice: {}
    """Additional scenarios of the full form, by name, each with its own number of replications:
    they take too long for the quick form."""
    theory: Callable[[Choice], object] = lambda _choice: None
    """Computes what measuring takes from models, which keep it; runs beside the simulations."""
    quick: Callable[[Scenario], Sequence[str]] = lambda _scenario: ()
    """What a set-up has different in the quick form, as overrides: a shorter run."""
    found: Sequence[str] = ()
    """Conclusions, in paragraphs, for experiments beyond the paper."""


@dataclass(frozen=True)
class Paper:
    """A paper with its experiments."""

    folder: Path
    title: str
    """Title."""
    source: str
    """Authors, journal and year."""
    experiments: Mapping[str, str]
    """Title of each experiment, by its number in the paper."""

    @classmethod
    def read(cls, path: Path) -> Paper:
        """Reads a paper.toml."""
        return cls(folder=path.parent, **tomllib.loads(path.read_text(encoding="utf-8")))

    @property
    def key(self) -> str:
        """Name of the paper on the command line."""
        return self.folder.name.replace("_", "-")

    @cached_property
    def readings(self) -> list[Reading]:
        """What the paper leaves open, with alternatives."""
        return read_readings(self.folder / "readings.toml", list(self.experiments))

    def main_choice(self, number: str) -> Choice:
        """The main choice of readings of an experiment."""
        return main_choice(self.readings, number)

    def experiment(self, number: str) -> Experiment:
        """The experiment with this number."""
        module = importlib.import_module(f"{__package__}.{self.folder.name}.experiment_{number}")
        experiment: Experiment = module.EXPERIMENT
        return experiment


def theory_alone(_choice: Choice) -> Mapping[str, Scenario]:
    """The set-ups of an experiment whose quantities are computed from theory: none. Its quantities
    have a single value, and no interval."""
    return {}


def replicated(scenario: Scenario, replications: int) -> Scenario:
    """The scenario with the given number of replications."""
    return scenario.model_copy(update={"replications": replications})
