"""The engine. Plans are JSON; results are dicts of numpy arrays, times in seconds."""

from typing import Any, final

class PlanError(ValueError):
    """A plan that cannot be run: path into the plan, message."""

    args: tuple[str, str]

class Cancelled(Exception):
    """A run that was cancelled."""

@final
class Control:
    """The line between a run and whoever watches it from another thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Ask the run to stop."""
    def done_secs(self) -> float:
        """Simulated seconds done so far."""

def version() -> str:
    """The version of the engine."""

def aqm_catalogue() -> list[dict[str, Any]]:
    """Every AQM: name, summary, source, params, probes."""

def tcp_params() -> list[dict[str, Any]]:
    """Every parameter of TCP."""

def dscps() -> tuple[str, dict[str, int]]:
    """What a code point may look like, for error messages, and the names that code points have."""

def tcp_presets() -> dict[str, dict[str, Any]]:
    """What each preset of TCP sets."""

def check(plan_json: str) -> None:
    """Raise PlanError if the plan cannot be run."""

def run(plan_json: str, seed: int, control: Control) -> dict[str, Any]:
    """Run a plan; other threads go on meanwhile."""
