"""Optional dependencies: which extra of the installation provides which packages.

The table repeats ``[project.optional-dependencies]`` of pyproject.toml.
"""

from importlib.util import find_spec

from marqueue.errors import MarqueueError

EXTRAS = {
    "plots": ("matplotlib",),
    "theory": ("matplotlib", "scipy"),
    "papers": ("matplotlib", "polars", "scipy"),
    "pandas": ("pandas",),
    "polars": ("polars",),
    "xarray": ("xarray",),
    "notebook": ("anywidget",),
    "perfetto": ("perfetto",),
    "metrics": ("prometheus_client",),
    "numba": ("numba",),
    "slurm": ("submitit",),
    "tuning": ("optuna", "SALib"),
    "ray": ("ray",),
}
"""The modules of each extra. The extra ``all`` has all of them but :data:`LARGE`."""

LARGE = ("ray",)
"""Extras of hundreds of megabytes, which are installed by name only."""


class MissingExtra(MarqueueError, ImportError):
    """A required package is not installed; the message says how to install it."""


def has(extra: str) -> bool:
    """Whether all modules of an extra are installed."""
    return not _missing(extra)


def require(extra: str, what: str) -> None:
    """Raises MissingExtra if a module of an extra is missing. ``what`` begins the message."""
    missing = _missing(extra)
    if missing:
        *others, last = missing
        listed = f"{', '.join(others)} and {last}" if others else last
        raise MissingExtra(f"{what} needs {listed}: {hint(extra)}")


def hint(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'marqueue[{extra}]'"


def _missing(extra: str) -> list[str]:
    return [module for module in EXTRAS[extra] if find_spec(module) is None]
