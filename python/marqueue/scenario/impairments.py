"""What may happen to packets behind a transmitter, as the tables of links have it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from marqueue.errors import show
from marqueue.scenario import parameters
from marqueue.scenario.fields import Declared, Table
from marqueue.scenario.parameters import Refused, Value

PERCENT = r"^\s*(\d+(\.\d+)?)\s*%\s*$"
"""A share as text."""


@dataclass(frozen=True)
class Loss(Declared):
    """A model of loss by name, with the parameters that were given, in the engine's units."""

    model: str
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, **params: object) -> Self:
        """As a scenario writes it: ``Loss.of("random", probability=0.01)``."""
        return cls.read({"model": model, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """From a table, or from a share of packets such as "1%", which are lost at random."""
        if isinstance(value, Mapping):
            return cls(*parameters.read_model(value, "model", parameters.losses()))
        match = re.match(PERCENT, value) if isinstance(value, str) else None
        if match is None or float(match[1]) > 100:
            expected = 'a share of packets such as "1%", or a table with a model of loss'
            raise Refused([((), f"got {show(value)}, expected {expected}")])
        return cls("random", {"probability": float(match[1]) / 100})

    def table(self) -> dict[str, Any]:
        """Model and parameters."""
        return parameters.write_model(self.model, self.params, "model", parameters.losses())


class Impairments(Table):
    """What may happen on the way, in this direction of a link; a packet that is lost has used its
    capacity."""

    loss: Loss | None = None
    """Losses on the wire: a share such as "1%", or a table with a model and its parameters."""

    def pipe(self) -> dict[str, Any]:
        """For the plan: what there is, empty for a clear pipe."""
        return {
            name: {"name": each.model, "params": dict(each.params)}
            for name, each in (("loss", self.loss),)
            if each is not None
        }
