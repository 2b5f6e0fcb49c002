"""What a file says of a network: its nodes, its edges, and the mistakes in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from marqueue.errors import Problem, ScenarioError
from marqueue.units import Duration, Rate

MOST_MISTAKES = 20
"""Mistakes of a file that are reported."""


@dataclass(frozen=True)
class Node:
    """A node."""

    name: str
    """Its name in the scenario, unique."""
    line: int
    """Where it is in the file."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What the file says of it, as texts."""
    place: tuple[float, float] | None = None
    """Latitude and longitude, degrees."""


@dataclass(frozen=True)
class Edge:
    """A connection of two nodes."""

    start: str
    """The name of a node, as is ``end``."""
    end: str
    line: int
    directed: bool
    """Whether it leads only from start to end."""
    rate: Rate | None = None
    delay: Duration | None = None

    def __str__(self) -> str:
        return f'edge from "{self.start}" to "{self.end}"'


@dataclass(frozen=True)
class FileNetwork:
    """The network of a file."""

    nodes: Mapping[str, Node]
    """The nodes by name."""
    edges: list[Edge]
    ids: Mapping[str, str] = field(default_factory=dict)
    """The name of a node by its id in the file, where they differ."""


class Mistakes:
    """The mistakes of a file that a key of a scenario names."""

    def __init__(self, key: str, file: str, origin: str) -> None:
        self.key = key
        self.file = file
        self.origin = origin
        self.found: list[Problem] = []

    def add(self, line: int, message: str) -> None:
        """Records a mistake in a line; raises ScenarioError after MOST_MISTAKES."""
        self.found.append(Problem(self.key, f"{self.file}:{line}: {message}"))
        if len(self.found) >= MOST_MISTAKES:
            self.check()

    def refuse(self, message: str) -> ScenarioError:
        """An error about the file as a whole."""
        return ScenarioError([*self.found, Problem(self.key, message)], self.origin)

    def check(self) -> None:
        """Raises ScenarioError if there are any."""
        if self.found:
            raise ScenarioError(self.found, self.origin)
