"""The plane of most stability maps: round trips and numbers of flows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from marqueue.design.design import Axis, Plane

#: Number of values per axis, and the factor to both ends.
VALUES, AROUND = 41, 4.0


def axis(label: str, here: float, around: float = AROUND) -> Axis:
    """An axis with logarithmic values around ``here``."""
    return Axis(label, np.geomspace(here / around, here * around, VALUES), here)


def rtt_by_flows(setting: Any) -> Plane:
    """The plane of a setting with fields ``rtt`` (s) and ``flows``."""
    return Plane(
        axis("Round trip [ms]", 1e3 * setting.rtt),
        axis("Flows", setting.flows),
        lambda rtt, flows: replace(setting, rtt=rtt / 1e3, flows=flows),
    )
