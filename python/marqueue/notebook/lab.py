"""A scenario with sliders: it runs again in the kernel whenever one moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import traitlets

from marqueue.errors import MarqueueError
from marqueue.notebook.sliders import Setting, sliders
from marqueue.notebook.widgets import Charts
from marqueue.reports.chart import Chart
from marqueue.reports.curves import visible
from marqueue.reports.run_charts import run_charts, run_choices
from marqueue.results.congested_links import busiest_link
from marqueue.scenario import with_overrides
from marqueue.simulation.run import run

if TYPE_CHECKING:
    from marqueue.results import Result
    from marqueue.scenario import Scenario

#: What can be changed if nothing is said, in a scenario with a link called bottleneck.
USUAL: Mapping[str, Sequence[Setting]] = {
    "topology.bottleneck.aqm": ["droptail", "red", "codel", "pie", "avq", "fq_codel"],
    "topology.bottleneck.rate": ("1 Mbit/s", "100 Mbit/s"),
}


class Lab(Charts):
    """A widget that runs a scenario with sliders on chosen values.

    ``settings`` has a path of the scenario and what it can be: a tuple of the least and the largest
    value, such as ``("2 Mbit/s", "20 Mbit/s")`` or ``(1, 40)``, or a list of values, such as
    ``["codel", "pie"]``. The result before the last change stays as a faint curve. ``replications``
    is one unless given, because every change runs the scenario.

    ``result`` is the latest result. A value that the scenario refuses is answered with the message
    of the command. Raises ScenarioError for a path that there is not, ValueError for a range that
    is none, MissingExtra without anywidget.
    """

    controls: traitlets.List[Any] = traitlets.List().tag(sync=True)
    """The sliders and lists, as JSON."""
    values = traitlets.Dict().tag(sync=True)
    """The value of each path that was moved, as text."""
    summary = traitlets.Unicode("").tag(sync=True)
    """The main figures of the latest result, as text."""
    problem = traitlets.Unicode("").tag(sync=True)
    """Why there is no result for the values, or nothing."""

    def __init__(
        self,
        scenario: Scenario,
        settings: Mapping[str, Sequence[Setting]] | None = None,
        *,
        replications: int = 1,
    ) -> None:
        super().__init__()
        self._scenario, self._replications = scenario, replications
        self._before: Sequence[Chart] = ()
        chosen = USUAL if settings is None else settings
        self.controls = [each.as_dict() for each in sliders(scenario, chosen)]
        self.result: Result = self._run()
        self._show(self.result)

    def _run(self) -> Result:
        over = [f"{path}={value}" for path, value in self.values.items()]
        return run(with_overrides(self._scenario, over), replications=self._replications)

    @traitlets.observe("values")
    def _moved(self, _change: Any) -> None:
        try:
            self.result = self._run()
        except MarqueueError as error:
            self.problem = str(error)
        else:
            self.problem = ""
            self._show(self.result)

    def _show(self, result: Result) -> None:
        charts, choices = run_charts(result), run_choices(result)
        self.show(result, [_with_ghost(each, self._before) for each in charts], choices)
        self._before = [replace(each, curves=visible(each.curves, choices)) for each in charts]
        busiest = busiest_link(result)
        if busiest is None:
            self.summary = ""
            return
        figures = result.link(busiest).figures()
        delay, used = figures["delay_p99"].mean, figures["utilization"].mean
        self.summary = f"{busiest}: utilization {used:.3f}, delay p99 {1e3 * delay:.1f} ms"


def _with_ghost(chart: Chart, before: Sequence[Chart]) -> Chart:
    """A chart with the curves that the one of this title had before, faint."""
    for each in before:
        if each.title == chart.title and chart.kind != "scatter":
            old = [replace(c, ghost=True, band=None, name="before", tags={}) for c in each.curves]
            return replace(chart, curves=[*chart.curves, *old[:3]])
    return chart
