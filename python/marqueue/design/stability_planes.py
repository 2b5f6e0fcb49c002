"""The plane of most stability maps: round trips against numbers of flows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from marqueue.design.design import Axis, Plane

#: How many values a side, and by what factor they go up and down.
VALUES, AROUND = 41, 4.0


def axis(label: str, here: float, around: float = AROUND) -> Axis:
    """Values around one, on both sides."""
    return Axis(label, np.geomspace(here / around, here * around, VALUES), here)


def rtt_by_flows(setting: Any) -> Plane:
    """Of a setting with the fields ``rtt`` and ``flows``."""
    return Plane(
        axis("Round trip [ms]", 1e3 * setting.rtt),
        axis("Flows", setting.flows),
        lambda rtt, flows: replace(setting, rtt=rtt / 1e3, flows=flows),
    )
