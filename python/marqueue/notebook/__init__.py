"""Results and a lab in notebooks: :func:`card` for any, widgets for Jupyter and marimo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marqueue.extras import require
from marqueue.notebook.card import card

if TYPE_CHECKING:
    from marqueue.notebook.lab import Lab
    from marqueue.notebook.widgets import View
    from marqueue.results import Result

__all__ = ["Lab", "card", "view"]


def view(result: Result) -> View:
    """The charts of a result as a widget. Raises MissingExtra without anywidget."""
    require("notebook", "A widget")
    from marqueue.notebook.widgets import View

    return View(result)


def __getattr__(name: str) -> Any:
    """Imports the lab when it is asked for: it needs anywidget. Raises MissingExtra without."""
    if name != "Lab":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("notebook", "The lab in a notebook")
    from marqueue.notebook.lab import Lab

    return Lab
