"""marqueue: a workbench for active queue management and congestion control.

scenario = marqueue.load("scenario.toml")
result = marqueue.run(scenario)
print(result.summary())
"""

from marqueue._core import version as _version
from marqueue.errors import MarqueueError, ScenarioError
from marqueue.result import Result
from marqueue.run import run
from marqueue.scenario import Scenario, from_dict, from_toml, load, with_overrides

__version__ = _version()

__all__ = [
    "MarqueueError",
    "Result",
    "Scenario",
    "ScenarioError",
    "from_dict",
    "from_toml",
    "load",
    "run",
    "with_overrides",
]
