"""A search for the worst traffic of an AQM within stated bounds.

``traffic`` has the bounds and makes a scenario of a point in them, ``harm`` measures it,
``search`` finds the worst, compares it with random traffic and minimizes it.
"""

from marqueue.attack.harm import GOALS
from marqueue.attack.search import Attack, attack
from marqueue.attack.traffic import Setting

__all__ = ["GOALS", "Attack", "Setting", "attack"]
