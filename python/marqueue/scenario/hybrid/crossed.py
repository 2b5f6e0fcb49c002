"""The links of the scenario in the plan of a hybrid run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Plan = Mapping[str, Any]


def is_modelled(link: Mapping[str, Any]) -> bool:
    """Whether wires stand for a link of the plan."""
    return "link" in (link.get("model") or {})


def crossed_links(plan: Plan) -> list[tuple[list[int], list[int]]]:
    """The links of each route of a plan, forward and reverse, with those for which wires stand in
    place of the wires: indices into the plan's links."""
    stands_for = [
        ((link.get("model") or {}).get("wire") or {}).get("links") for link in plan["links"]
    ]
    if not any(stands_for):
        return [(each["forward"], each["reverse"]) for each in plan["routes"]]

    def all_of(links: Sequence[int]) -> list[int]:
        return [each for i in links for each in _either(stands_for[i], i)]

    return [(all_of(each["forward"]), all_of(each["reverse"])) for each in plan["routes"]]


def _either(links: Iterable[int] | None, alone: int) -> Iterable[int]:
    return (alone,) if links is None else links
