"""The scenario as a whole."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.fields import Durations, PositiveDuration, Table, Transport, Warmup
from marqueue.scenario.topology import Topology
from marqueue.scenario.traffic import Name, Traffic, TrafficGroups
from marqueue.units import Duration

Transports = dict[str, Transport] | dict[str, Keys] | dict[str, Transport | Keys]
"""The types that settings of TCP may be given in, by name."""


class Scenario(Table):
    """A simulation: the network, the traffic and the measurements."""

    name: Name
    """Its name, in titles and in the name of the result directory."""
    description: str = ""
    """A description, for the report."""
    duration: Accepts[PositiveDuration, Duration | str]
    """How long the run lasts, in simulated time."""
    warmup: Accepts[Warmup, Duration | str] = by_default(Duration(0))
    """Measurements begin after it; "auto" finds it in a pilot (MSER-5)."""
    cuts: Accepts[list[PositiveDuration], Durations] = by_default([])
    """Further times at which a measuring window ends and the next begins."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of the random numbers; the seeds of replications are derived from it."""
    replications: Annotated[int, Field(ge=1, le=10_000)] = 5
    """Number of runs with different random numbers, for confidence intervals."""
    sample: Accepts[Duration, Duration | str] = by_default(Duration(100_000_000))
    """Interval between samples of the time series; "0 s" for no series."""
    topology: Accepts[Topology, Topology | dict[str, Any]]
    """The network."""
    transport: Accepts[dict[Name, Transport], Transports] = by_default({"default": Transport()})
    """Settings of TCP, by name."""
    traffic: Accepts[Annotated[list[Traffic], Field(min_length=1)], TrafficGroups]
    """The groups of traffic."""

    def to_dict(self) -> dict[str, Any]:
        """The scenario as in a file: quantities are texts with units."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_toml(self) -> str:
        """The text of a scenario file, with every default."""
        return tomli_w.dumps(self.to_dict())

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal: sorted keys, no spaces."""
        return hash_of(self.to_dict())


def hash_of(values: Mapping[str, Any]) -> str:
    """:attr:`Scenario.hash` of the scenario with these values (:meth:`Scenario.to_dict`)."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
