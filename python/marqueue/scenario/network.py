"""Links and classes of flows: what every topology becomes.

Links are one-way; a class of flows has a route over them in each direction. Topologies are expanded
in :mod:`marqueue.scenario.topology_expansion`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from marqueue.errors import Problem
from marqueue.scenario.cpu import Cpu
from marqueue.scenario.impairments import Impairments
from marqueue.scenario.topology import Access, Link, LinkKeys, Queue, StarClass
from marqueue.units import Duration, Rate


@dataclass(frozen=True)
class PerFlow:
    """A link for each flow."""

    law: dict[str, Any]
    """The law of its delay, as in the plan."""
    stream: str
    """The random stream of the delay, which is the same in both directions."""


@dataclass(frozen=True)
class OneWay:
    """A link in one direction."""

    name: str
    """Its name in results, which also selects its random stream."""
    rate: Rate
    delay: Duration
    path: str
    """The path of its table in the scenario."""
    table: LinkKeys | None = None
    """That table, if it describes the queue and the schedule of this link; None for a wire."""
    impairments: Impairments | None = None
    """Its impairments, if it has any."""
    trace: bool = False
    """Whether its packets are recorded."""
    back_of: str | None = None
    """The name of the link whose reverse direction this is."""
    cpu: Cpu | None = None
    """The CPU that this entry stands for; its rate follows from the traffic."""
    per_flow: PerFlow | None = None
    """Whether each flow has such a link of its own; ``delay`` is then the shortest one."""
    aqm_path: str | None = None
    """The path of its AQM in the scenario, if that is not in its table."""

    @property
    def managed(self) -> bool:
        """Whether it has a measured queue."""
        return self.cpu is not None or (self.table is not None and self.table.buffer is not None)


@dataclass(frozen=True)
class Class:
    """A class of flows with its routes, as indices of links."""

    name: str
    forward: tuple[int, ...]
    reverse: tuple[int, ...]
    spread: bool = False
    """Whether its flows have different propagation delays."""
    weight: float = 1.0
    """Its part of a group's flows or rate, relative to other classes."""


@dataclass
class Network:
    """Links and classes in a stable order, and the problems of the topology."""

    links: list[OneWay] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    cpus: dict[int, int] = field(default_factory=dict)
    """The CPU in front of a link: index of the link to index of the CPU."""
    _spreading: set[int] = field(default_factory=set)
    """The links whose flows have different propagation delays."""

    def refuse(self, path: str, message: str) -> None:
        """Records a problem."""
        self.problems.append(Problem(path, message))

    def add(self, link: OneWay) -> int:
        """Adds a link, after its CPU if it has one, and returns its index."""
        cpu = link.table.cpu if link.table else None
        if cpu is not None:
            self.cpus[len(self.links) + 1] = len(self.links)
            self.links.append(
                OneWay(
                    f"{link.name}/cpu",
                    link.rate,
                    Duration(0),
                    f"{link.path}.cpu",
                    trace=cpu.trace,
                    cpu=cpu,
                )
            )
        if link.per_flow is not None and "constant" not in link.per_flow.law:
            self._spreading.add(len(self.links))
        self.links.append(link)
        return len(self.links) - 1

    def add_class(
        self, name: str, forward: Iterable[int], reverse: Iterable[int], weight: float = 1.0
    ) -> None:
        """Adds a class of flows over these links and the CPUs in front of them."""
        there, back = self._way(forward), self._way(reverse)
        # An empty set would be compared with every link of the way.
        spread = bool(self._spreading) and not self._spreading.isdisjoint((*there, *back))
        self.classes.append(Class(name, there, back, spread, weight))

    def _way(self, links: Iterable[int]) -> tuple[int, ...]:
        if not self.cpus:
            return tuple(links)
        steps = ((self.cpus[i], i) if i in self.cpus else (i,) for i in links)
        return tuple(chain.from_iterable(steps))

    def refuse_unmanaged(self, table: LinkKeys, path: str) -> None:
        """Records a problem if a table has an AQM but no buffer."""
        if table.buffer is None and table.aqm is not None:
            self.refuse(
                f"{path}.buffer",
                'missing, expected a buffer such as "100 packets" for the AQM',
            )

    def wires(
        self,
        name: str,
        rate: Rate,
        delay: Duration,
        path: str,
        table: Access | StarClass,
        law: dict[str, Any] | None = None,
    ) -> tuple[int, int]:
        """Adds a pair of wires, of which only the forward one is impaired; returns both indices.

        With a law of delays each flow has its own pair.
        """
        trace = isinstance(table, Access) and table.trace
        own = None if law is None else PerFlow(law, name)
        if own is not None:
            self.refuse_extras(table, path, trace)
        there = OneWay(name, rate, delay, path, impairments=table, trace=trace, per_flow=own)
        back = OneWay(f"{name}/back", rate, delay, path, trace=trace, back_of=name, per_flow=own)
        return self.add(there), self.add(back)

    def refuse_extras(self, table: Impairments, path: str, trace: bool) -> None:
        """Records a problem for what links of single flows do not have."""
        expected = "none where each flow has a link of its own"
        for key in table.pipe():
            self.refuse(f"{path}.{key}", f"got impairments, expected {expected}")
        if trace:
            self.refuse(f"{path}.trace", f"got true, expected {expected}")

    def queue(
        self, name: str, back: str, table: Queue, path: str, reverse: Link | None = None
    ) -> tuple[int, int]:
        """Adds a link with a queue and its reverse: a wire of the same rate and delay, or
        ``reverse``.

        Returns both indices.
        """
        there = self.add(
            OneWay(name, table.rate, table.delay, path, table, table, trace=table.trace)
        )
        if reverse is None:
            alike = OneWay(back, table.rate, table.delay, path, trace=table.trace, back_of=name)
            return there, self.add(alike)
        self.refuse_unmanaged(reverse, "topology.reverse")
        own = "topology.reverse", reverse, reverse, reverse.trace
        return there, self.add(OneWay(back, reverse.rate, reverse.delay, *own, name))
