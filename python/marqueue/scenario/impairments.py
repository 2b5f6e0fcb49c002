"""Impairments of a link: loss, jitter and reordering behind its transmitter."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from marqueue.errors import show
from marqueue.scenario import parameters
from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.fields import Declared, Table
from marqueue.scenario.parameters import Refused, Value

PERCENT = r"^\s*(\d+(\.\d+)?)\s*%\s*$"
"""A share in percent, as text."""


@dataclass(frozen=True)
class Loss(Declared):
    """The name of a loss model and its given parameters, in the engine's units."""

    model: str
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, **params: object) -> Self:
        """A loss model with values as in a scenario: ``Loss.of("random", probability=0.01)``."""
        return cls.read({"model": model, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table, or a share such as "1%" of packets that are lost at random."""
        if isinstance(value, Mapping):
            return cls(*parameters.read_model(value, "model", parameters.losses()))
        match = re.match(PERCENT, value) if isinstance(value, str) else None
        if match is None or float(match[1]) > 100:
            expected = 'a share of packets such as "1%", or a table with a model of loss'
            raise Refused([((), f"got {show(value)}, expected {expected}")])
        return cls("random", {"probability": float(match[1]) / 100})

    def table(self) -> dict[str, Any]:
        """The table with model and parameters."""
        return parameters.write_model(self.model, self.params, "model", parameters.losses())


@dataclass(frozen=True)
class Jitter(Declared):
    """The given parameters of jitter, in the engine's units."""

    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table, or only the mean of the extra delay."""
        if isinstance(value, str):
            value = {"mean": value}
        return cls(_read(value, parameters.jitter_declarations(), 'a time such as "2 ms" or '))

    def table(self) -> dict[str, Any]:
        """The parameters."""
        return parameters.write_all(parameters.jitter_declarations(), self.params)


@dataclass(frozen=True)
class Reorder(Declared):
    """The given parameters of reordering, in the engine's units."""

    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table."""
        return cls(_read(value, parameters.reorder_declarations()))

    def table(self) -> dict[str, Any]:
        """The parameters."""
        return parameters.write_all(parameters.reorder_declarations(), self.params)


def _read(
    value: object, declared: Sequence[parameters.Declaration], otherwise: str = ""
) -> Mapping[str, Value]:
    if not isinstance(value, Mapping):
        keys = " and ".join(spec.name for spec in declared if spec.required)
        raise Refused([((), f"got {show(value)}, expected {otherwise}a table with {keys}")])
    return parameters.read_all(declared, value)


class Impairments(Table):
    """Impairments in this direction of a link, behind its queue and transmitter. A lost packet has
    used the capacity of the link."""

    loss: Accepts[Loss | None, Loss | str | Keys | None] = by_default(None)
    """Losses on the wire: a share such as "1%", or a table with a model and its parameters."""
    jitter: Accepts[Jitter | None, Jitter | str | Keys | None] = by_default(None)
    """Delay that varies: the mean of what is added to the delay, or a table."""
    reorder: Accepts[Reorder | None, Reorder | Keys | None] = by_default(None)
    """Reordering: which share of packets is held back for how long, so that others overtake."""

    def pipe(self) -> dict[str, Any]:
        """The impairments in the plan; empty if there are none."""
        pipe: dict[str, Any] = {}
        if self.loss is not None:
            pipe["loss"] = {"name": self.loss.model, "params": dict(self.loss.params)}
        if self.jitter is not None:
            pipe["jitter"] = dict(self.jitter.params)
        if self.reorder is not None:
            pipe["reorder"] = dict(self.reorder.params)
        return pipe


def impairment_tables(pipe: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of a scenario for the ``pipe`` of a link in the plan."""
    tables: dict[str, Declared] = {}
    if "loss" in pipe:
        tables["loss"] = Loss(pipe["loss"]["name"], pipe["loss"]["params"])
    if "jitter" in pipe:
        tables["jitter"] = Jitter(pipe["jitter"])
    if "reorder" in pipe:
        tables["reorder"] = Reorder(pipe["reorder"])
    return {what: table.table() for what, table in tables.items()}
