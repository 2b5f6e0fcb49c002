"""Figures of a scenario as a function of its settings, in the forms that Optuna and SALib take.

Both are given functions and call no code of ours otherwise: samplers, pruning, storage and methods
of screening are theirs. Every value is measured with the seeds of the scenario (common random
numbers), so the function has no noise of its own: the same settings give the same figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marqueue.errors import RunError, show
from marqueue.results import ChosenFigure, Result, choose_all, subjects_of
from marqueue.scenario import Scenario, with_overrides
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate

if TYPE_CHECKING:
    import optuna

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_FORM = re.compile(
    rf"\s*(?P<path>[^=]+?)\s*=\s*(?P<low>{_NUMBER})\s*(?P<unit>[^.\d]*?)\s*\.\.\s*"
    rf"(?P<high>{_NUMBER})\s*(?P<again>.*?)\s*?(?P<log>\blog)?\s*"
)
COUNTED = ("packet", "packets", "byte", "bytes", "B")
"""Units of which scenarios take whole numbers only."""

EXAMPLE = '"topology.bottleneck.aqm.target=1 ms..50 ms log"'


@dataclass(frozen=True)
class Range:
    """A setting of a scenario and the values that it may take."""

    path: str
    """As for ``--set``."""
    low: float
    high: float
    """In ``unit``; both ends are included."""
    unit: str
    """Of scenario files; empty for numbers."""
    is_log: bool
    """Whether values are drawn and compared by their logarithms."""
    is_whole: bool
    """Whether the values are whole numbers: numbers without a unit whose ends are written without a
    point, and what scenarios count in whole (:data:`COUNTED`)."""

    @classmethod
    def parse(cls, text: str) -> Range:
        """Reads ``PATH=LOW..HIGH`` or ``PATH=LOW..HIGH log``; the ends have the same unit.

        Raises RunError with the text and what was expected.

        >>> Range.parse("topology.bottleneck.aqm.target=1 ms..50 ms log").unit
        'ms'
        """
        match = _FORM.fullmatch(text)
        if match is None or match["unit"] != match["again"]:
            raise RunError(f"range: got {show(text)}, expected PATH=LOW..HIGH such as {EXAMPLE}")
        low, high = float(match["low"]), float(match["high"])
        is_log = match["log"] is not None
        if not low < high or (is_log and low <= 0):
            least = "0 < LOW < HIGH" if is_log else "LOW < HIGH"
            raise RunError(f"range: got {show(text)}, expected {least}")
        written = match["low"] + match["high"]
        is_whole = match["unit"] in COUNTED or (
            not match["unit"] and all(each in "-+0123456789" for each in written)
        )
        return cls(match["path"], low, high, match["unit"], is_log, is_whole)

    def override(self, value: float) -> str:
        """The setting with this value, as for ``--set``."""
        number = str(round(value)) if self.is_whole else f"{value:.12g}"
        return f"{self.path}={number} {self.unit}".rstrip()


class Response:
    """Figures of a scenario as a function of its settings.

    ``ranges`` are texts such as ``"topology.bottleneck.aqm.target=1 ms..50 ms log"``. ``figures``
    are named as for ``marqueue sweep --figure``: without a name, one of links is taken of every
    link. Values are in the units of reports (ms, Mbit/s, ...), which :attr:`names` tells. ``jobs``
    is the number of threads.

    Raises RunError or ScenarioError for ranges and figures that are not there.

    >>> from marqueue import load
    >>> response = Response(
    ...     load("scenarios/first.toml", ["duration=5 s", "warmup=1 s", "replications=1"]),
    ...     ["topology.bottleneck.buffer=20 packets..200 packets"],
    ...     ["delay_p99", "utilization"],
    ... )
    >>> small, large = response.measure([[20.0], [200.0]])
    >>> bool(small[0] < large[0]), response.measure([[20.0]]).shape
    (True, (1, 2))
    """

    def __init__(
        self,
        scenario: Scenario,
        ranges: Sequence[str],
        figures: Sequence[str],
        *,
        jobs: int | None = None,
    ) -> None:
        self.ranges = [Range.parse(text) for text in ranges]
        self.figures: list[ChosenFigure] = choose_all(figures, subjects_of(scenario))
        if not self.ranges or not self.figures:
            raise RunError("tuning: got no ranges or no figures, expected at least one of each")
        paths = [each.path for each in self.ranges]
        if len(set(paths)) < len(paths):
            raise RunError(f"range: got {', '.join(paths)}, expected each path once")
        self._scenario = scenario
        self._jobs = jobs
        for ends in ([r.low for r in self.ranges], [r.high for r in self.ranges]):
            self.scenario(ends)

    @property
    def names(self) -> list[str]:
        """The figures with their subjects and units, in the order of the values."""
        return [f"{each.subject}: {each.figure.title}" for each in self.figures]

    def scenario(self, values: Sequence[float]) -> Scenario:
        """The scenario with a value for each range, in its unit. Raises ScenarioError."""
        overrides = [each.override(v) for each, v in zip(self.ranges, values, strict=True)]
        return with_overrides(self._scenario, overrides)

    def measure(self, values: ArrayLike) -> NDArray[np.float64]:
        """Runs the scenario with each row of values, of shape (n, ranges), in the units of the
        ranges. Returns the means of the figures, of shape (n, figures); NaN for one without a
        value."""
        rows = np.atleast_2d(np.asarray(values, dtype=float))
        if rows.shape[1] != len(self.ranges):
            raise RunError(f"tuning: got {rows.shape[1]} values, expected {len(self.ranges)}")
        results = run_each([self.scenario(row.tolist()) for row in rows], jobs=self._jobs)
        return np.array([self._figures(each) for each in results])

    def _figures(self, result: Result) -> list[float]:
        measured = result.summary()["measured"]
        return [_shown(each, measured) for each in self.figures]

    def objective(self, trial: optuna.Trial) -> float | tuple[float, ...]:
        """What Optuna's ``study.optimize`` calls: the figures with the values of a trial, whose
        parameters are named by their paths. The study has a direction for each figure."""
        values: list[float] = [
            trial.suggest_int(each.path, int(each.low), int(each.high), log=each.is_log)
            if each.is_whole
            else trial.suggest_float(each.path, each.low, each.high, log=each.is_log)
            for each in self.ranges
        ]
        [found] = self.measure([values])
        return tuple(found.tolist()) if len(found) > 1 else float(found[0])

    @property
    def problem(self) -> dict[str, Any]:
        """What SALib's samplers and analyses take. Ranges are uniform, or uniform in the logarithm;
        whole numbers are rounded."""
        return {
            "num_vars": len(self.ranges),
            "names": [each.path for each in self.ranges],
            "bounds": [[each.low, each.high] for each in self.ranges],
            "dists": ["logunif" if each.is_log else "unif" for each in self.ranges],
        }


def _shown(chosen: ChosenFigure, measured: Mapping[str, Any]) -> float:
    """A figure of a summary, in the unit of reports."""
    found = Estimate.from_dict(chosen.subject.measured(measured)[chosen.figure.name])
    return found.scaled(chosen.figure.scale).mean
