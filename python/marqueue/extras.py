"""Packages that only some of the work needs: which extra of the installation brings them.

The table is that of ``[project.optional-dependencies]`` in pyproject.toml.
"""

from importlib.util import find_spec

from marqueue.errors import MarqueueError

EXTRAS = {
    "plots": ("matplotlib",),
    "theory": ("matplotlib", "scipy"),
    "papers": ("matplotlib", "polars", "scipy"),
    "pandas": ("pandas",),
    "polars": ("polars",),
}
"""By extra, what it brings; the extra ``all`` brings everything."""


class MissingExtra(MarqueueError, ImportError):
    """Something needs a package that is not installed; the message says how to install it."""


def has(extra: str) -> bool:
    """Whether everything that an extra brings is installed."""
    return not _missing(extra)


def require(extra: str, what: str) -> None:
    """Raises MissingExtra if a package is missing that ``what`` needs, which begins the message."""
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
