"""Papers that are reproduced here: every experiment with its figures and a verdict per claim.

A paper is a package of this one; :data:`PAPERS` lists it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from rich.table import Table

Progress = Callable[[float, float], None]


class PaperResult(Protocol):
    """What came of some of a paper's experiments."""

    report: Path
    """The page that tells it."""

    def table(self) -> Table:
        """The figures and verdicts, for the terminal."""

    def summary(self) -> dict[str, Any]:
        """The figures and verdicts, ready for JSON."""


class Paper(Protocol):
    """A paper and its experiments."""

    title: str
    """Authors, title, where and when."""
    experiments: Mapping[str, str]
    """What each experiment is about, by its number in the paper."""

    def run(
        self,
        experiments: list[str],
        quick: bool,
        out: Path,
        jobs: int | None,
        progress: Progress | None,
    ) -> PaperResult:
        """Runs these experiments and writes data, figures and a report into ``out``."""


PAPERS: dict[str, Paper] = {}
"""By key."""
