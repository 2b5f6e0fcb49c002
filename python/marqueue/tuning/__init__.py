"""Settings of a scenario optimized or screened by others' programs: Optuna and SALib."""

from marqueue.tuning.response import Range as Range
from marqueue.tuning.response import Response as Response

__all__ = ["Range", "Response"]
