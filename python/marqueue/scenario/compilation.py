"""The state of compiling a scenario: its network, the problems found, the origin of plan
entries."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from marqueue.errors import Problem, show, unknown
from marqueue.scenario.model import Scenario
from marqueue.scenario.network import Network
from marqueue.scenario.topology import Dumbbell
from marqueue.scenario.traffic import (
    Cbr,
    Media,
    Paced,
    Packets,
    Quic,
    Recorded,
    Traffic,
    group_names,
)
from marqueue.units import Duration

Plan = dict[str, Any]
"""A plan, or a part of one, as JSON holds it (``crates/sim/src/plan.rs``)."""


@dataclass
class Compilation:
    """A scenario with its network, and the problems found so far."""

    scenario: Scenario
    net: Network
    problems: list[Problem] = field(init=False)
    origins: dict[str, str] = field(default_factory=dict)
    """The path in the scenario of each path in the plan."""
    reverse_routes: dict[int, int] = field(init=False)
    """The route of each class that is used in reverse; these routes follow all others."""

    def __post_init__(self) -> None:
        self.problems = []
        used = [
            self.classes(f"traffic.{i}", table)
            for i, table in enumerate(self.scenario.traffic)
            if table.direction == "reverse"
        ]
        reverse = dict.fromkeys(each for classes in used for each in classes)
        self.reverse_routes = {each: len(self.net.classes) + i for i, each in enumerate(reverse)}
        # Wrong classes are reported when their group is compiled.
        self.problems = list(self.net.problems)

    def refuse(self, path: str, message: str) -> None:
        """Records a problem."""
        self.problems.append(Problem(path, message))

    def origin(self, path: str) -> str:
        """The path in the scenario of a path in the plan such as ``links[0].queue``."""
        path = path.replace("[", ".").replace("]", "")
        for prefix in sorted(self.origins, key=len, reverse=True):
            if path == prefix or path.startswith(f"{prefix}."):
                return self.origins[prefix] + path[len(prefix) :]
        return path

    def packet(self, table: Traffic) -> int:
        """The size of a group's data packets on the wire; 0 if its transport is unknown."""
        if isinstance(table, Cbr | Paced | Packets | Quic | Media):
            return table.packet.base
        if isinstance(table, Recorded):
            return table.mean_packet
        transport = self.scenario.transport.get(table.transport)
        return transport.wire_bytes if transport else 0

    @cached_property
    def usual_packet(self) -> int:
        """The size of the data packets of the first group."""
        return self.packet(self.scenario.traffic[0])

    @cached_property
    def group_names(self) -> list[str]:
        """The name of each group."""
        return group_names(self.scenario.traffic)

    @cached_property
    def group_numbers(self) -> dict[str, int]:
        """The index of the first group with each name."""
        tables = list(enumerate(self.scenario.traffic))
        return {table.name: i for i, table in reversed(tables) if table.name is not None}

    @cached_property
    def class_indices(self) -> dict[str, int]:
        """The index of each class by name; the first, if a name is there twice (an error)."""
        classes = list(enumerate(self.net.classes))
        return {each.name: i for i, each in reversed(classes)}

    def classes(self, path: str, table: Traffic) -> list[int]:
        """The indices of a group's classes. Records a problem for each wrong class."""
        if table.classes is None:
            return list(range(len(self.net.classes)))
        classes: dict[int, None] = {}
        for i, given in enumerate(table.classes):
            index = self.class_indices.get(self.class_name(given))
            if index is None:
                names = [each.name for each in self.net.classes]
                self.refuse(f"{path}.classes.{i}", unknown(given, names))
            elif index in classes:
                self.refuse(
                    f"{path}.classes.{i}", f"got {show(given)} again, expected each class once"
                )
            else:
                classes[index] = None
        return list(classes)

    def class_name(self, given: str) -> str:
        """The canonical name of a class. Those of a dumbbell are times, with several spellings."""
        if isinstance(self.scenario.topology, Dumbbell):
            try:
                return str(Duration.parse(given))
            except ValueError:
                return given
        return given
