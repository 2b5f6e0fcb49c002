"""How the sender of a link gets access to its medium."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from marqueue.errors import show
from marqueue.scenario import parameters
from marqueue.scenario.fields import Declared
from marqueue.scenario.parameters import Refused, Value


@dataclass(frozen=True)
class Medium(Declared):
    """The name of a model of medium access and its given parameters, in the engine's units."""

    model: str
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, **params: object) -> Self:
        """A model with values as in a scenario: ``Medium.of("leo", outage="100 ms")``."""
        return cls.read({"model": model, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table, or the name of a model. Raises :class:`Refused`."""
        table = {"model": value} if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            known = ", ".join(parameters.media())
            expected = f"the name of a medium ({known}), or a table with a model"
            raise Refused([((), f"got {show(value)}, expected {expected}")])
        return cls(*parameters.read_model(table, "model", parameters.media()))

    def table(self) -> dict[str, Any]:
        """The table with model and parameters."""
        return parameters.write_model(self.model, self.params, "model", parameters.media())

    def entry(self) -> dict[str, Any]:
        """The medium in the plan."""
        return {"name": self.model, "params": dict(self.params)}


def medium_text(entry: Mapping[str, Any]) -> str:
    """A medium in the plan as text: its model and what is given of its parameters."""
    table = Medium(entry["name"], entry["params"]).table()
    model = table.pop("model")
    given = ", ".join(f"{key} {value}" for key, value in table.items())
    return f"{model} ({given})" if given else str(model)
