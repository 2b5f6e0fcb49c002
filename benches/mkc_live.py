"""Figures 10 to 12 of the MKC paper with real packets beside simulated ones: table and picture of
docs/live.md.

    python -m benches.mkc_live

Needs root, and a machine that is otherwise idle: 3 to 10 minutes. A replication for which
the machine does not keep up is run again, three times at most. Whether it did is seen from timers,
not from rates.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from marqueue.live.run import run_live
from marqueue.papers.mkc.experiment_10 import SETTLED, C
from marqueue.papers.mkc.measures import rates
from marqueue.papers.mkc.setups import flow, one_link
from marqueue.plots import panels, style, svg
from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict, load
from marqueue.simulation.run import run
from marqueue.statistics.estimates import Estimate

PAGE, PICTURE = Path("docs/live.md"), Path("docs/live/mkc.svg")
BEGIN, END = "<!-- mkc -->\n", "<!-- end mkc -->"
REPLICATIONS = 10
RETRIES = 3
RTT = "60 ms"
"""The paper does not give it. With this one the naive flow overshoots to about 3 C."""


def one(law: str) -> Scenario:
    """One flow on 10 Mbit/s, from 125 kbit/s; its start is drawn from an interval."""
    control = flow(law, alpha="100 kbit/s", beta=0.9)
    return with_replications(one_link(law, control, rtts=[RTT]), REPLICATIONS)


def with_replications(scenario: Scenario, count: int) -> Scenario:
    """The same, so many times."""
    return from_dict(scenario.to_dict() | {"replications": count})


FIGURES = {
    "Figure 10: the naive reference rate": one("emkc_naive"),
    "Figure 11: the reference rate of the price's interval": one("emkc"),
    "Figure 12: four flows, one more every 5 s": with_replications(load("scenarios/mkc.toml"), 2),
}


def main() -> None:
    """Runs everything, and writes table and picture."""
    head = [
        "| | | largest rate over C | last second, sum over X* | last second, least over greatest |",
        "|---|---|---|---|---|",
    ]
    rows, complaints = [], []
    figure, areas = panels(len(FIGURES), shared=False)
    for (title, scenario), axes in zip(FIGURES.items(), areas, strict=True):
        sides = {"simulated": run(scenario), "measured": run_live(scenario, retries=RETRIES)}
        live = sides["measured"].provenance.live or {}
        if live.get("invalid_reasons"):
            complaints.append(f"{title.split(':')[0]}: {live['invalid_reasons'][0]}")
        draw(axes, title.split(":")[0], sides)
        for name, result in sides.items():
            cells = " | ".join(shown(each) for each in measured(result))
            rows.append(f"| {title if name == 'simulated' else ''} | {name} | {cells} |")
            print(rows[-1], flush=True)
    invalid = [f"Invalid: {each}" for each in complaints] or ["The audit found each valid."]
    table = "\n".join(["", *head, *rows, "", *invalid, "", ""])
    text = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}{table}{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")
    PICTURE.write_text(svg(figure), encoding="utf-8")
    print("\n".join(invalid))


def draw(axes: Axes, title: str, sides: Mapping[str, Result]) -> None:
    """The rates of the flows of the first replication, simulated and measured."""
    for (name, result), look in zip(sides.items(), style.looks(len(sides)), strict=True):
        flows = rates(result)[0]
        for number, each in enumerate(flows.values()):
            axes.step(
                [*each.t, each.end],
                [*each.value, each.value[-1]],
                where="post",
                color=look["color"],
                linewidth=1.8 if name == "simulated" else 0.9,
                linestyle="-" if name == "simulated" else "--",
                label=name if number == 0 else None,
            )
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(f"{title}: rate [Mbit/s]")
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    style.legend(axes)


def measured(result: Result) -> tuple[Estimate, Estimate, Estimate]:
    """Of each replication: the largest rate of the first flow over C, the sum of rates over
    C + N alpha / beta, and the least rate over the greatest, both of the last second."""
    peaks, sums, shares = [], [], []
    for flows in rates(result):
        last = [each.mean(each.end - 1, each.end) for each in flows.values()]
        peaks.append(float(flows[min(flows)].value.max()) / C if len(flows) == 1 else np.nan)
        sums.append(sum(last) / (C + len(flows) * (SETTLED - C)))
        shares.append(min(last) / max(last))
    return Estimate.of(peaks), Estimate.of(sums), Estimate.of(shares)


def shown(value: Estimate) -> str:
    """A cell with its 95 % interval."""
    if np.isnan(value.mean):
        return ""
    return f"{value.mean:.3f} ± {value.half_width or 0:.3f}"


if __name__ == "__main__":
    main()
