"""The pictures of a report: what is embedded for its script, and what is there without it."""

import base64
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from marqueue import Result, from_toml, run
from marqueue.reports import Report, builder, report
from marqueue.reports.chart import Chart, ChartCurve, Choice
from marqueue.reports.curves import MEAN
from marqueue.reports.embedding import as_json, charts_data, columns_for
from marqueue.reports.picture import picture
from marqueue.reports.run_charts import run_charts
from marqueue.reports.thinning import PER_COLUMN, kept
from marqueue.statistics.estimates import Estimate
from report_page import embedded, needs_script
from sample_runs import sample_run
from small_scenario import SMALL

EVIL = '</script><script>alert("x")</script><!--&\u2028'


def unpacked(packed: dict[str, Any]) -> np.ndarray[Any, Any]:
    values = np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}")
    assert len(values) == packed["n"]
    return values.astype(float)


def times(packed: dict[str, Any]) -> np.ndarray[Any, Any]:
    steps = unpacked(packed["gaps"]) if "gaps" in packed else np.ones(packed["n"] - 1)
    return (packed["first"] + packed["step"] * np.append(0.0, np.cumsum(steps))) / 1e9


def one(y: np.ndarray[Any, Any], **settings: Any) -> Chart:
    x = np.arange(1, len(y) + 1) * 0.001
    return Chart("Queue", "Time [s]", "Queue [packets]", [ChartCurve(x, y)], **settings)


class TestThinning:
    @pytest.mark.parametrize("n", [4 * 50 + 1, 1000, 12345])
    def test_keeps_every_columns_first_last_lowest_and_highest(self, n: int) -> None:
        y = np.random.default_rng(1).normal(size=n)
        y[::7] = np.nan
        stay = kept([y], 50)
        width = -(-n // 50)
        assert len(stay) <= 50 * PER_COLUMN
        for begin in range(0, n, width):
            column = np.arange(begin, min(begin + width, n))
            here = y[stay[(stay >= begin) & (stay < begin + width)]]
            assert {column[0], column[-1]} <= set(stay)
            assert np.nanmin(here) == np.nanmin(y[column])
            assert np.nanmax(here) == np.nanmax(y[column])

    def test_a_peak_of_one_sample_in_a_million_stays(self) -> None:
        y = np.zeros(10**6)
        y[123_456] = 99
        [stay] = np.flatnonzero(y[kept([y], 15)])
        assert kept([y], 15)[stay] == 123_456

    def test_a_band_keeps_its_extremes_too(self) -> None:
        y, low, high = np.zeros(10_000), np.zeros(10_000), np.zeros(10_000)
        low[1234], high[5678] = -1, 1
        assert {1234, 5678} <= set(kept([y, low, high], 20))

    def test_few_samples_all_stay(self) -> None:
        assert list(kept([np.array([1.0, np.nan])], 1)) == [0, 1]


class TestEmbedding:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([0, 255], "u1"),
            ([256, 1], "u2"),
            ([65536], "u4"),
            ([-1, 2], "f4"),
            ([0.5, np.nan], "f4"),
            ([2.0**33], "f4"),
            ([], "f4"),
        ],
    )
    def test_numbers_take_few_bytes_and_come_back(self, values: list[float], kind: str) -> None:
        data = charts_data([one(np.array(values, dtype=float))], [], 10)
        [series] = data["charts"][0]["series"]
        assert series["y"]["type"] == kind
        np.testing.assert_array_equal(unpacked(series["y"]), values)

    def test_times_come_back_to_the_nanosecond(self) -> None:
        rng = np.random.default_rng(2)
        t = np.cumsum(rng.integers(1, 10**9, 500)) / 1e9
        curve = ChartCurve(t, np.zeros(500))
        data = charts_data([Chart("", "", "", [curve], over_time=True)], [], 1000)
        np.testing.assert_allclose(times(data["charts"][0]["series"][0]["x"]), t, atol=5e-10)

    def test_regular_times_take_no_space(self) -> None:
        data = charts_data([one(np.zeros(1000), over_time=True)], [], 1000)
        packed = data["charts"][0]["series"][0]["x"]
        assert packed == {"n": 1000, "first": 1_000_000, "step": 1_000_000}

    def test_what_was_left_out_is_counted(self) -> None:
        chart = charts_data([one(np.arange(5000.0))], [], 10)["charts"][0]
        stay, of = chart["thinned"]
        assert of == 5000
        assert stay == chart["series"][0]["y"]["n"] < of
        assert charts_data([one(np.zeros(9))], [], 10)["charts"][0]["thinned"] is None

    def test_no_text_ends_the_block(self) -> None:
        chart = Chart(EVIL, EVIL, EVIL, [ChartCurve(np.zeros(1), np.zeros(1), EVIL, {EVIL: EVIL})])
        data = charts_data([chart], [Choice(EVIL, EVIL, [EVIL, "b"], [EVIL])], 10)
        text, _ = as_json(data)
        assert not re.search(r"[<>&\u0080-\uffff]", text)
        assert data["charts"][0]["title"] == EVIL

    def test_many_long_series_share_the_space(self) -> None:
        many = [one(np.zeros(10**5)) for _ in range(100)]
        assert columns_for(many[:1]) > columns_for(many)


class TestPicture:
    def test_names_and_titles_are_text(self) -> None:
        curve = ChartCurve(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
        svg = picture(Chart(EVIL, EVIL, EVIL, []), [(EVIL, curve), ("b", curve)])
        assert "<script" not in svg
        assert svg.count("&lt;/script&gt;") == 2 * 6

    def test_gaps_are_gaps(self) -> None:
        y = np.array([1.0, np.nan, 2.0, 3.0])
        svg = picture(one(y), [("", ChartCurve(np.arange(4.0), y))])
        [path] = re.findall(r'<path class="s1" d="([^"]*)"', svg)
        assert path.count("M") == 2
        assert path.count("L") == 1

    @pytest.mark.parametrize("values", [[], [np.nan], [0.0], [5.0, 5.0]])
    def test_little_data_make_a_picture_without_numbers_that_are_none(
        self, values: list[float]
    ) -> None:
        y = np.array(values)
        for scale in ("linear", "log"):
            svg = picture(one(y, y_scale=scale), [("", ChartCurve(np.arange(len(y)) + 1.0, y))])
            assert "nan" not in svg
            assert "inf" not in svg


@pytest.fixture(scope="module")
def result() -> Result:
    return sample_run()


@pytest.fixture(scope="module")
def group(result: Result) -> dict[str, Any]:
    [group] = embedded(report(result).render())["groups"]
    return dict(group)


@needs_script
class TestPage:
    def test_has_the_series_of_each_replication_and_their_mean(
        self, result: Result, group: dict[str, Any]
    ) -> None:
        t, queue = result.link().series("queue")
        [chart] = [each for each in group["charts"] if each["title"] == "Queue"]
        assert chart["shadeUntil"] == 3
        assert chart["cuts"] == [8.0]
        of = {each["tags"]["replication"]: each for each in chart["series"]}
        assert list(of) == [MEAN, "1", "2", "3"]
        for i in range(3):
            np.testing.assert_array_equal(unpacked(of[str(i + 1)]["y"]), queue[i])
            np.testing.assert_allclose(times(of[str(i + 1)]["x"]), t)
        expected = [Estimate.of(queue[:, i]) for i in range(len(t))]
        low, mean, high = (unpacked(of[MEAN][name]) for name in ("low", "y", "high"))
        np.testing.assert_allclose(mean, [each.mean for each in expected], rtol=1e-6)
        half_width = np.array([each.half_width for each in expected])
        np.testing.assert_allclose(high, mean + half_width, rtol=1e-5)
        np.testing.assert_allclose(low, np.maximum(mean - half_width, 0), rtol=1e-5, atol=1e-5)

    def test_has_windows_round_trips_and_rates_of_traced_flows(
        self, result: Result, group: dict[str, Any]
    ) -> None:
        titles = [each["title"] for each in group["charts"]]
        traced = [each for each in titles if "of traced flows" in each]
        assert [each.split()[0] for each in traced] == [
            "Windows",
            "Round-trip",
            "Rates",
            "Retransmission",
        ]
        [windows] = [each for each in group["charts"] if each["title"].startswith("Windows")]
        first = next(each for each in windows["series"] if each["name"] == "cwnd")
        table = result.to_arrow("tcp").to_pandas()
        flow = table[(table.replication == 0) & (table.flow == table.flow.min())]
        np.testing.assert_allclose(unpacked(first["y"]), flow.cwnd, rtol=1e-6)
        [flows] = [each for each in group["choices"] if each["tag"] == "flow"]
        assert flows["shown"] == flows["values"][:4]

    def test_a_million_samples_take_less_than_three_megabytes(self) -> None:
        text = SMALL.replace('sample = "', 'sample = "1 ms" # "')
        result = run(from_toml(text), replications=2)
        series = result.to_arrow("series")
        repeat = -(-(10**6) // series.num_rows)
        rows = np.repeat(np.arange(series.num_rows), repeat)
        long = series.take(rows)
        steps = np.arange(long.num_rows // 2) * 1e-5
        place = long.schema.get_field_index("t")
        long = long.set_column(place, long.schema.field("t"), [np.concatenate([steps, steps])])
        tables = {**result.tables, "series": long}
        million = Result(result.scenario, result.plan, result.provenance, tables)
        page = report(million).render()
        assert long.num_rows >= 10**6
        assert len(page.encode()) < 3e6
        queue = million.link().series("queue")[1]
        [group] = embedded(page)["groups"]
        [chart] = [each for each in group["charts"] if each["title"] == "Queue"]
        for each in chart["series"][1:]:
            own = queue[int(each["tags"]["replication"]) - 1]
            assert unpacked(each["y"]).max() == own.max()


def test_hostile_names_stay_text() -> None:
    scenario = SMALL.replace('"Small"', "'</script><script>alert(1)</script>'")
    scenario = scenario.replace('name = "long"', "trace = true\nname = '<script>alert(2)<!--'")
    page = report(run(from_toml(scenario))).render()
    assert "<script>alert" not in page
    assert page.count("</script>") == page.count("<script")


def test_without_the_script_there_are_tables_and_one_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builder, "built", lambda: None)
    page = report(sample_run()).render()
    assert "<script" not in page
    assert page.count('<svg class="picture"') == 1
    assert "<table" in page


def test_a_page_without_charts_has_no_script() -> None:
    assert "<script" not in Report("R").text("nothing to draw").render()


def test_reports_need_neither_matplotlib_nor_scipy() -> None:
    """They would take longer to load than a run and its report together."""
    script = (
        "import sys; from marqueue.reports import write_report, write_sweep_report;"
        "import marqueue.reports.comparison_report;"
        "print([m for m in ('matplotlib', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_network_without_queues_has_a_report() -> None:
    scenario = """
name = "Wires"
duration = "4 s"
[topology]
kind = "graph"
links = [{ name = "wire", from = "a", to = "b", rate = "10 Mbit/s", delay = "10 ms" }]
classes = [{ name = "way", from = "a", to = "b" }]
[[traffic]]
kind = "tcp"
count = 2
size = "100 packets"
"""
    assert "No link has a queue; the goodput" in report(run(from_toml(scenario))).render()


TWO_SENDERS = """
name = "Two senders"
duration = "4 s"
warmup = "1 s"
replications = 2

[topology]
kind = "dumbbell"
rtts = {rtts}
bottleneck = {{ rate = "10 Mbit/s", delay = "2 ms", buffer = "50 packets" }}

[transport.default]

[transport.cubic]
control = "cubic"

[[traffic]]
name = "Reno"
kind = "tcp"
count = 4

[[traffic]]
name = "CUBIC"
kind = "tcp"
count = 4
transport = "cubic"
"""


@pytest.mark.parametrize(
    ("rtts", "names"),
    [
        ('["20 ms"]', ["Reno", "CUBIC"]),
        ('["20 ms", "40 ms"]', ["Reno, 20 ms", "Reno, 40 ms", "CUBIC, 20 ms", "CUBIC, 40 ms"]),
        # Seven round trips of two groups are more curves than a chart has.
        (str([f"{rtt} ms" for rtt in range(10, 80, 10)]).replace("'", '"'), ["Reno", "CUBIC"]),
    ],
)
def test_goodputs_are_drawn_by_what_tells_flows_apart(rtts: str, names: list[str]) -> None:
    text = TWO_SENDERS.format(rtts=rtts)
    if len(names) == 2:
        text = text.replace("count = 4", "count = 7")
    [chart] = [each for each in run_charts(run(from_toml(text))) if each.name == "goodput-cdf"]
    assert [curve.name for curve in chart.curves] == names
