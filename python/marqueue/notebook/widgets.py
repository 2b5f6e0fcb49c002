"""Widgets of anywidget, which run in Jupyter and in marimo. Their script is web/src/notebook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from marqueue.notebook.card import pictures
from marqueue.reports.chart import Chart, Choice
from marqueue.reports.embedding import charts_data, columns_for
from marqueue.reports.run_charts import run_charts, run_choices

if TYPE_CHECKING:
    from marqueue.results import Result

#: Without node no script was built: the picture is shown, and how to build the script.
WITHOUT_SCRIPT = """
export default { render({ model, el }) {
  el.innerHTML = model.get("picture");
  el.append("The script of this widget was not built: run make web, with node 20 or later.");
} };
"""


@cache
def _built(name: str) -> str | None:
    file = files("marqueue.notebook") / "built" / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


class Charts(anywidget.AnyWidget):
    """Charts with their data."""

    _esm = _built("notebook.js") or WITHOUT_SCRIPT
    _css = _built("notebook.css") or ""
    data = traitlets.Unicode("").tag(sync=True)
    """JSON, as in reports (:mod:`marqueue.reports.embedding`)."""
    picture = traitlets.Unicode("").tag(sync=True)
    """The first charts as HTML, for pages without a kernel."""

    def show(self, result: Result, charts: Sequence[Chart], choices: Sequence[Choice]) -> None:
        """Replaces what the widget shows."""
        data = charts_data(charts, choices, columns_for(charts))
        self.picture = pictures(result, charts[:2])
        self.data = json.dumps(data, allow_nan=False)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/html"] = self.picture
        return bundle


class View(Charts):
    """The charts of a result, as in its report."""

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.show(result, run_charts(result), run_choices(result))
