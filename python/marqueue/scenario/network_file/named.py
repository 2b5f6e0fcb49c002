"""Whether a scenario names files with a network. Few do, so the rest of the package is imported
where one does."""

from collections.abc import Mapping
from typing import Any


def names_files(data: Mapping[str, Any]) -> bool:
    """Whether a scenario names a file with a network or a traffic matrix, or asks for one by
    gravity."""
    topology = data.get("topology")
    if not isinstance(topology, Mapping) or topology.get("kind") != "graph":
        return False
    return "file" in topology or "matrix" in topology
