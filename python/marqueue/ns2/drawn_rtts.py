"""Round-trip times drawn from a distribution, so that both simulators get the same list."""

from collections.abc import Mapping
from random import Random
from typing import Any

from marqueue.scenario.delays import DelayDistribution
from marqueue.units import Duration


def drawn(law: Mapping[str, Any], flows: int, seed: str) -> list[float]:
    """A round-trip time for each flow, s, in whole nanoseconds.

    ``law`` is a table as in ``topology.rtts`` of a scenario, with its shortest time. The draws
    depend on ``seed`` only.
    """
    random = Random(seed)
    distribution = DelayDistribution.read(law)
    shortest = distribution.shortest(Duration(0))
    return [round(distribution.quantile(1.0 - random.random(), shortest), 9) for _ in range(flows)]
