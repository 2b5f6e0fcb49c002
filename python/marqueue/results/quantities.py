"""How quantities are called in figures and reports, and in which units they are shown."""

from __future__ import annotations

#: Labels of the series that every link has; others are called by their names.
SERIES_LABELS = {
    "queue": "Queue",
    "queue_bytes": "Queue",
    "utilization": "Utilization",
    "drops": "Dropped",
    "marks": "Marked",
    "rate": "Rate",
    "delay_p50": "Delay, median",
    "delay_p99": "Delay, p99",
}

#: Units of data files, with the unit in figures and the factor.
SHOWN_UNITS = {
    "bit/s": ("Mbit/s", 1e-6),
    "bytes/s": ("kB/s", 1e-3),
    "bytes": ("kB", 1e-3),
    "s": ("ms", 1e3),
}
#: Units of dimensionless quantities.
NO_UNIT = ("", "1", "fraction")


def series_label(name: str) -> str:
    """The label of a series of a link."""
    return SERIES_LABELS.get(name, name.replace("_", " "))


def shown_unit(unit: str) -> tuple[str, float]:
    """The unit in which values in a unit of data files are shown, and the factor."""
    return SHOWN_UNITS.get(unit, (unit, 1.0))


def axis_label(quantity: str, unit: str = "") -> str:
    """An axis label: the quantity with its unit, if it has one."""
    return quantity if unit in NO_UNIT else f"{quantity} [{unit}]"
