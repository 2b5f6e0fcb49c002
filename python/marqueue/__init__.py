"""marqueue: a workbench for active queue management and congestion control.

scenario = marqueue.load("scenario.toml")
result = marqueue.run(scenario)
print(result.summary())

Importing the package is fast: scenarios and results, which need pydantic and Arrow, are imported on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marqueue._core import version as _version
from marqueue.errors import MarqueueError, ScenarioError
from marqueue.extras import MissingExtra
from marqueue.simulation.run import run

if TYPE_CHECKING:
    from marqueue.notebook import Lab
    from marqueue.programs.interface import (
        CE,
        DROP,
        ECT0,
        ECT1,
        MARK,
        NOT_ECT,
        PASS,
        aqm,
        congestion_control,
        parameter,
        probe,
    )
    from marqueue.results import Result
    from marqueue.scenario import Scenario, from_dict, from_toml, load, with_overrides

__version__ = _version()

__all__ = [
    "CE",
    "DROP",
    "ECT0",
    "ECT1",
    "MARK",
    "NOT_ECT",
    "PASS",
    "Lab",
    "MarqueueError",
    "MissingExtra",
    "Result",
    "Scenario",
    "ScenarioError",
    "aqm",
    "congestion_control",
    "from_dict",
    "from_toml",
    "load",
    "parameter",
    "probe",
    "run",
    "with_overrides",
]


_OF_PROGRAMS = (
    *("CE", "DROP", "ECT0", "ECT1", "MARK", "NOT_ECT", "PASS"),
    *("aqm", "congestion_control", "parameter", "probe"),
)
"""What classes that are AQMs are written with."""


def __getattr__(name: str) -> Any:
    """Imports a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    programs = dict.fromkeys(_OF_PROGRAMS, "marqueue.programs.interface")
    places = {"Result": "marqueue.results", "Lab": "marqueue.notebook", **programs}
    module = places.get(name, "marqueue.scenario")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
