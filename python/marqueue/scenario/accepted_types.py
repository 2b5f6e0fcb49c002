"""Types of fields that store one type and accept others, for type checkers.

``duration: Accepts[Duration, Duration | str]`` stores a Duration, and the constructor also accepts
a text with a unit. pydantic sees only the first of the two types.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import Field

Stored = TypeVar("Stored")
Accepted = TypeVar("Accepted")

Keys = Mapping[str, Any]
"""A table of a scenario file."""

if TYPE_CHECKING:

    class Accepts(Generic[Stored, Accepted]):
        """A descriptor whose setter has the type that the constructor accepts."""

        def __get__(self, instance: object, owner: Any = None, /) -> Stored:
            """The stored value."""
            raise NotImplementedError

        def __set__(self, instance: object, value: Accepted, /) -> None:
            """Accepts a value of the constructor."""
else:

    class Accepts:
        """The stored type."""

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            """The first of the two types."""
            return types[0]


def by_default(value: object) -> Any:
    """The default of a field, typed Any because the field's own type is a descriptor."""
    return value


def empty_list() -> Any:
    """An empty list as the default of a field. Where the default is written as ``[]``, pydantic
    copies it deeply for each object, and a network has one per link and class."""
    return Field(default_factory=list, json_schema_extra={"default": []})
