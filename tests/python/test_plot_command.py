"""``marqueue plot``: every figure of a result as a file for print, with its values beside it."""

import csv
import json
import struct
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest

from marqueue.cli.plot import plot
from marqueue.errors import MarqueueError
from marqueue.reports.for_print import STYLES, draw, file_of, thinned, values
from marqueue.reports.print_choice import chosen_charts, chosen_curves
from marqueue.reports.run_charts import run_charts
from marqueue.scenario import load
from marqueue.simulation.run import run
from sample_runs import sample_run

FIGURES = [
    *("overview", "queue", "utilization", "drops", "marks", "avg", "p"),
    *("cwnd", "rtt", "flow-rate", "rto"),
    *("queue-histogram", "cdf", "fct-cdf", "goodput-cdf"),
]
SCENARIOS = Path(__file__).parents[2] / "scenarios"

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a result with traced flows and three replications."""
    return sample_run().save(tmp_path_factory.mktemp("results") / "traced")


def rows(out: Path) -> Rows:
    with out.with_suffix(".csv").open(newline="") as data:
        return list(csv.DictReader(data))


def column(of: Rows, name: str) -> list[float]:
    return [float(row[name] or "nan") for row in of]


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_comes_with_the_values_that_are_drawn(
    saved: Path, tmp_path: Path, figure: str
) -> None:
    out = tmp_path / "figure.svg"
    plot(saved, out, figure=figure)
    told = rows(out)
    charts = thinned(chosen_curves(chosen_charts(run_charts(sample_run()), figure, ""), {}))
    drawn = [
        (x, y)
        for axes in draw(charts, STYLES["ieee"], "column").axes
        for line in axes.lines
        # The line of a curve; the edges of windows are dashed and have two points.
        if len(line.get_xdata()) > 2
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    *_, x, y = told[0]
    assert len(told) == len(drawn) > 10
    assert np.allclose(
        list(zip(column(told, x), column(told, y), strict=True)), drawn, equal_nan=True
    )
    text = out.read_text()
    for chart, _ in charts:
        # matplotlib writes each text as a comment before its outlines.
        assert f"<!-- {chart.y_label} -->" in text
    assert "<text" not in text


def test_the_values_are_those_of_the_result_with_their_units(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "queue.png"
    plot(saved, out, figure="queue", replication="2")
    t, queue = sample_run().link().series("queue")
    told = rows(out)
    assert column(told, "Time [s]") == pytest.approx(t)
    assert column(told, "Queue [packets]") == pytest.approx(queue[1])


def test_the_mean_of_all_replications_has_its_interval(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "queue.pdf"
    plot(saved, out, figure="queue", replication="mean")
    _, queue = sample_run().link().series("queue")
    told = rows(out)
    mean, low, high = (np.array(column(told, name)) for name in ("Queue [packets]", "low", "high"))
    assert mean == pytest.approx(queue.mean(axis=0))
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert (low < high).any()


def test_the_chosen_flows_are_drawn_and_by_default_the_first(saved: Path, tmp_path: Path) -> None:
    by_default, chosen = tmp_path / "first.svg", tmp_path / "two.svg"
    plot(saved, by_default, figure="cwnd")
    plot(saved, chosen, figure="cwnd", flow=["3", "long 1"])
    assert {row["curve"] for row in rows(by_default)} == {"cwnd", "ssthresh"}
    assert {row["curve"] for row in rows(chosen)} == {
        f"{of}, long {flow}" for of in ("cwnd", "ssthresh") for flow in (1, 3)
    }
    table = sample_run().to_arrow("tcp").to_pylist()
    cwnds = [row["cwnd"] for row in table if (row["replication"], row["flow"]) == (0, 3)]
    told = [float(r["Window [packets]"]) for r in rows(chosen) if r["curve"] == "cwnd, long 3"]
    assert max(told) == pytest.approx(max(cwnds))


def test_links_are_chosen_by_name(tmp_path: Path) -> None:
    scenario = load(
        SCENARIOS / "parking-lot.toml",
        ["duration=4 s", "warmup=1 s", "cuts=[]", "topology.hops.1.schedule=[]"],
    )
    result = run(scenario, replications=1)
    source = result.save(tmp_path / "parking-lot")
    first, second, *_ = result.links
    plot(source, tmp_path / "all.svg", figure="queue")
    plot(source, tmp_path / "one.svg", figure="queue", link=[second])
    assert {first, second} <= {row["curve"] for row in rows(tmp_path / "all.svg")}
    _, queue = result.link(second).series("queue")
    assert column(rows(tmp_path / "one.svg"), "Queue [packets]") == pytest.approx(queue[0])


@pytest.mark.parametrize(
    ("scenario", "figures"),
    [
        ("paced.toml", ["queue", "paced-rate", "cdf"]),
        ("cpu.toml", ["queue", "shares", "cdf"]),
        ("mm1.toml", ["cdf", "queue-histogram"]),
    ],
)
def test_results_of_each_kind_have_their_figures(
    tmp_path: Path, scenario: str, figures: list[str]
) -> None:
    trace = ["traffic.0.trace=true"] if scenario == "paced.toml" else []
    short = load(SCENARIOS / scenario, ["duration=6 s", "warmup=1 s", "cuts=[]", *trace])
    source = run(short, replications=2).save(tmp_path / "result")
    for figure in figures:
        plot(source, tmp_path / f"{figure}.pdf", figure=figure)
        assert len(rows(tmp_path / f"{figure}.pdf")) > 1


LINK = {
    "name": "uplink",
    "series": {
        "t": {"values": [0.1, 0.2, 0.3], "unit": "s"},
        "rate": {"values": [1e6, 2e6, 3e6], "unit": "bit/s"},
        "utilization": {"values": [0.1, 0.2, 0.3], "unit": "1"},
        "queue": {"values": [0, 3, 1], "unit": "packets"},
        "delay_p99": {"values": [None, 0.004, 0.002], "unit": "s"},
        "drops": {"values": [0, 0, 0], "unit": "packets"},
    },
}


def test_a_file_of_an_emulated_link_is_drawn_in_units_to_read(tmp_path: Path) -> None:
    source = tmp_path / "link.json"
    source.write_text(json.dumps({"links": [LINK, LINK | {"name": "downlink"}]}))
    out = tmp_path / "link.svg"
    plot(source, out)
    told = rows(out)
    assert {row["curve"] for row in told} == {"uplink", "downlink"}
    assert [row["quantity"] for row in told[::6]] == [
        "Rate [Mbit/s]",
        "Queue [packets]",
        "Delay, p99 [ms]",
    ]
    of_uplink = [row["value"] for row in told if row["curve"] == "uplink"]
    assert of_uplink == ["1", "2", "3", "0", "3", "1", "", "4", "2"]


@pytest.mark.parametrize("figure", ["overview", "cdf"])
@pytest.mark.parametrize("style", STYLES)
def test_fonts_are_in_the_file_as_outlines_that_printers_accept(
    saved: Path, tmp_path: Path, style: str, figure: str
) -> None:
    out = tmp_path / "figure.pdf"
    plot(saved, out, figure=figure, style=style)
    document = out.read_bytes()
    assert document.startswith(b"%PDF")
    assert b"/FontFile2" in document
    assert b"/Type3" not in document


@pytest.mark.parametrize(
    ("style", "width", "inches"),
    [
        ("ieee", "column", 3.5),
        ("ieee", "page", 7.16),
        ("acm", "column", 3.33),
        ("acm", "page", 7.0),
        ("talk", "page", 12.0),
    ],
)
def test_a_figure_is_as_wide_as_the_column_or_the_page(
    saved: Path, tmp_path: Path, style: str, width: str, inches: float
) -> None:
    out = tmp_path / "figure.png"
    plot(saved, out, figure="queue", style=style, width=width)
    pixels, height = struct.unpack(">II", out.read_bytes()[16:24])
    assert pixels == int(300 * inches)
    if style == "talk":
        assert pixels * 9 == height * 16


def test_long_series_are_thinned_and_keep_their_peaks() -> None:
    result = sample_run(sample="1 ms")
    [(_, [(_, curve)])] = thinned(chosen_curves(chosen_charts(run_charts(result), "queue", ""), {}))
    _, queue = result.link().series("queue")
    assert len(curve.y) < len(queue[0])
    assert (curve.y.min(), curve.y.max()) == (queue[0].min(), queue[0].max())


def test_the_same_result_gives_the_same_bytes() -> None:
    drawn = thinned(chosen_curves(chosen_charts(run_charts(sample_run()), "cwnd", ""), {}))
    for file_format in ("pdf", "svg", "png"):
        once, again = (
            file_of(draw(drawn, STYLES["acm"], "column"), STYLES["acm"], file_format)
            for _ in range(2)
        )
        assert once == again
    assert values(drawn) == values(drawn)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"figure": "cwdn"}, 'got "cwdn", expected one of overview, queue,'),
        ({"figure": "cwdn"}, 'did you mean "cwnd"'),
        (
            {"figure": "queue", "link": ["middle"]},
            '--link: got "middle", expected one of bottleneck',
        ),
        ({"figure": "cwnd", "flow": ["99"]}, '--flow: got "99", expected one of long 0, long 1'),
        ({"figure": "queue", "flow": ["0"]}, "--flow: nothing in the figure is of a flow"),
        ({"replication": "4"}, '--replication: got "4", expected one of mean, 1, 2, 3'),
        ({"style": "nature"}, '--style: got "nature", expected one of ieee, acm, talk'),
        ({"width": "two"}, '--width: got "two", expected one of column, page'),
    ],
)
def test_a_wrong_choice_is_told_with_what_there_is(
    saved: Path, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(MarqueueError) as told:
        plot(saved, tmp_path / "figure.svg", **options)
    assert said in str(told.value)
    assert not list(tmp_path.iterdir())


def test_a_result_without_series_lists_what_it_has(tmp_path: Path) -> None:
    source = sample_run(sample="0 s").save(tmp_path / "result")
    with pytest.raises(MarqueueError, match=r'got "overview", expected one of .*cdf'):
        plot(source, tmp_path / "figure.svg")


def test_outputs_that_cannot_be_written_are_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    for name, said in (
        ("nowhere/queue.pdf", "expected a file in a directory that exists"),
        ("queue.gif", "expected a name that ends in .svg, .png, .pdf"),
        ("there.svg", "there.csv: exists, expected a new file; --force replaces it"),
    ):
        with pytest.raises(MarqueueError, match=said):
            plot(saved, tmp_path / name, figure="queue")
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"
    plot(saved, tmp_path / "there.svg", figure="queue", force=True)
    assert len(rows(tmp_path / "there.svg")) > 10


def test_the_command_says_what_it_wrote_and_refuses_in_one_line(
    marqueue: Callable[..., "CompletedProcess[str]"], saved: Path, tmp_path: Path
) -> None:
    done = marqueue("plot", str(saved), "--figure", "cdf", "-o", "delay.pdf")
    assert (done.returncode, done.stdout) == (0, "delay.pdf, delay.csv\n"), done.stderr
    done = marqueue("plot", str(saved), "--figure", "x", "-o", "x.pdf")
    assert done.returncode == 2
    assert done.stderr.startswith(f"--figure of {saved}: got")
    assert not list(tmp_path.glob("x.*"))
