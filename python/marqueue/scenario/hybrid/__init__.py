"""Hybrid runs: which links are no bottlenecks, and the plan in which a model stands for their
queues."""

from marqueue.scenario.hybrid.bundles import Bundles
from marqueue.scenario.hybrid.crossed import crossed_links, is_modelled
from marqueue.scenario.hybrid.wires import MOST_PHASES, TooManyPhases, with_models

__all__ = [
    "MOST_PHASES",
    "Bundles",
    "TooManyPhases",
    "crossed_links",
    "is_modelled",
    "with_models",
]
