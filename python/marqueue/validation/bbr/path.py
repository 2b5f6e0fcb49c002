"""One BBR flow over one bottleneck, and what its model of the path did (``path_model``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.validation.rung import TaskRunner

PACKET = 1500
"""Size of a data packet on the wire, bytes."""
PACKET_COST = 4e-6
"""CPU time of a packet of a traced flow, s."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """The bottleneck and what is sent over it; rates in Mbit/s, times in s, the rest in packets."""

    rate: float = 10.0
    rtt: float = 0.04
    buffer: int = 134
    """By default four bandwidth-delay products."""
    seconds: float = 20.0
    control: str = "bbr3"
    link: Mapping[str, Any] = field(default_factory=dict)
    """More keys of the bottleneck."""
    transport: Mapping[str, Any] = field(default_factory=dict)
    application: Mapping[str, Any] = field(default_factory=dict)
    """How the application writes; by default all data is there from the start."""
    cross: Sequence[Mapping[str, Any]] = ()
    """Other traffic."""

    @property
    def bandwidth(self) -> float:
        """In packets/s."""
        return self.rate * 1e6 / 8 / PACKET

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, packets."""
        return self.bandwidth * self.rtt

    @property
    def cost(self) -> float:
        """CPU time of a run, s."""
        return PACKET_COST * self.bandwidth * self.seconds

    def scenario(self, seed: int) -> Scenario:
        """The scenario, a single replication."""
        flow = {"name": "flow", "kind": "tcp", "jitter": "0 s", "trace": True}
        return from_dict(
            {
                "name": f"{self.control} over {self.rate:g} Mbit/s and {self.rtt * 1e3:g} ms",
                "duration": f"{self.seconds} s",
                "seed": seed,
                "replications": 1,
                "sample": "0 s",
                "topology": {
                    "kind": "dumbbell",
                    "rtts": [f"{self.rtt} s"],
                    "bottleneck": {
                        "rate": f"{self.rate} Mbit/s",
                        "delay": f"{self.rtt / 4} s",
                        "buffer": f"{self.buffer} packets",
                        **self.link,
                    },
                    "access": {"rate": "10 Gbit/s"},
                },
                "transport": {
                    "default": {"preset": "linux", "control": self.control, **self.transport}
                },
                "traffic": [{**flow, **self.application}, *self.cross],
            }
        )

    def watch(self, bench: TaskRunner, seed: int) -> Watch:
        """Runs it."""
        return Watch(bench.run(self.scenario(seed)), self)


@dataclass(frozen=True)
class Phase:
    """A time that the state machine spent in one state, and the rows of the trace in it."""

    state: str
    start: float
    end: float
    rows: slice
    following: str | None
    """The state after it; None if the run ended."""


class Watch:
    """The trace of the model of the first flow. A column is an attribute: ``watch.bw``."""

    def __init__(self, result: Result, path: Path) -> None:
        self.result, self.path = result, path
        table = result.to_arrow("path_model")
        self.t: Floats = table["t"].to_numpy()
        self.state: npt.NDArray[Any] = np.array(table["state"].to_pylist())
        self._columns: dict[str, Floats] = {
            name: table[name].to_numpy() for name in table.column_names
        }
        sender = result.to_arrow("tcp")
        rows = np.searchsorted(sender["t"].to_numpy(), self.t, side="right") - 1
        self.cwnd: Floats = sender["cwnd"].to_numpy()[np.maximum(rows, 0)]

    def __getattr__(self, name: str) -> Floats:
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def bound(self, name: str) -> Floats:
        """A column with infinity where it has no value."""
        column: Floats = self._columns[name]
        bounded: Floats = np.where(np.isnan(column), np.inf, column)
        return bounded

    def phases(self, *states: str, after: float = 0.0) -> Iterator[Phase]:
        """The times in these states (by default in any) that begin after a time."""
        edges = np.flatnonzero(self.state[1:] != self.state[:-1]) + 1
        starts = [0, *edges.tolist()]
        ends = [*edges.tolist(), len(self.t)]
        for start, end in zip(starts, ends, strict=True):
            state = str(self.state[start])
            if (not states or state in states) and self.t[start] >= after:
                last = end == len(self.t)
                yield Phase(
                    state,
                    float(self.t[start]),
                    self.path.seconds if last else float(self.t[end]),
                    slice(start, end),
                    None if last else str(self.state[end]),
                )

    def first(self, *states: str, after: float = 0.0) -> Phase:
        """The first of them. Raises ValueError if there is none: the case then fails."""
        for phase in self.phases(*states, after=after):
            return phase
        raise ValueError(f"{self.path.control} was never in {' or '.join(states)}")

    def row(self, t: float) -> int:
        """The row that holds at a time."""
        return max(int(np.searchsorted(self.t, t, side="right")) - 1, 0)

    def sent(self, t: float) -> int:
        """Segments sent until a time, those sent again not counted."""
        row = self.row(t)
        return int(self.delivered[row] + self.in_flight[row])

    def goodput(self, start: float, end: float) -> float:
        """Delivered packets/s over a time."""
        first, last = self.row(start), self.row(end)
        return float(int(self.delivered[last]) - int(self.delivered[first])) / (end - start)


def share(seeds: Sequence[int], holds: Callable[[int], bool]) -> list[float]:
    """1 for each seed for which it holds, 0 for each other."""
    return [float(holds(seed)) for seed in seeds]
