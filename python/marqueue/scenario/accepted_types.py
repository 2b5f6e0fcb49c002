"""Fields that are read in one form and may be given in others, as type checkers see them.

``duration: Given[Duration, Duration | str]`` reads as a Duration, and a constructor takes a text
with a unit too. pydantic sees the first of the two types alone.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

Kept = TypeVar("Kept")
Taken = TypeVar("Taken")

Keys = Mapping[str, Any]
"""A table as a scenario file has it, by its keys."""

if TYPE_CHECKING:

    class Accepts(Generic[Kept, Taken]):
        """A descriptor: its setter has the type that a constructor takes."""

        def __get__(self, instance: object, owner: Any = None, /) -> Kept:
            """The value as it is kept."""
            raise NotImplementedError

        def __set__(self, instance: object, value: Taken, /) -> None:
            """What a constructor takes."""
else:

    class Accepts:
        """The type in which the value is kept."""

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            """The first of the two types."""
            return types[0]


def by_default(value: object) -> Any:
    """The value of a field that is not given: of no type, as that of the field is a descriptor."""
    return value
