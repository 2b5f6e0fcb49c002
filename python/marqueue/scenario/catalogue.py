"""What scenarios can choose from, as the engine declares it (``crates/sim/src/catalogue.rs``)."""

import json
from functools import cache
from typing import Any

import marqueue._core as _core


@cache
def catalogue() -> dict[str, Any]:
    """AQMs, loss models and rate laws with their parameters; those of TCP, of jitter and of
    reordering; names and constants of the engine."""
    found: dict[str, Any] = json.loads(_core.catalogue())
    return found


def timestamps_bytes() -> int:
    """Bytes that TCP's timestamps take in a packet."""
    return int(catalogue()["timestamps_bytes"])
