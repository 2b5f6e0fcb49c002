"""The propagation delay between two places on the earth."""

from math import asin, cos, radians, sin, sqrt

from marqueue.units import Duration

EARTH = 6371.0088
"""Mean radius of the earth, km (IUGG)."""
FIBRE = 5.0
"""Propagation delay of optical fibre with its repeaters, us per km (ITU-T G.114, Table A.1)."""

Place = tuple[float, float]


def great_circle(one: Place, other: Place) -> float:
    """The distance in km of two places, given as latitude and longitude in degrees, on a sphere
    (haversine formula)."""
    (a, b), (c, d) = (map(radians, each) for each in (one, other))
    h = sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2
    return 2 * EARTH * asin(sqrt(min(h, 1.0)))


def fibre_delay(one: Place, other: Place) -> Duration:
    """The delay of fibre along the great circle, to a microsecond: the last bits of sines differ
    between machines. Real fibre makes detours, so this is the least delay there can be."""
    return Duration(1000 * round(FIBRE * great_circle(one, other)))
