"""A scenario over a grid of values."""

import csv
import html
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

import marqueue as package
from marqueue import MarqueueError, Scenario, ScenarioError, run, with_overrides
from marqueue.reports import write_sweep_report
from marqueue.reports.built import built
from marqueue.results.summary import FEW_LINK_COLUMNS
from marqueue.simulation.parameter_grid import Axis, grid, labels
from marqueue.simulation.sweep import sweep
from marqueue.simulation.sweep_result import Sweep
from marqueue.simulation.sweep_table import sweep_table
from report_page import embedded, needs_script
from small_scenario import SMALL

COUNTS = "traffic.long.count=2,6"
AQMS = 'topology.bottleneck.aqm=red,{name="pie"}'


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Path]:
    out = tmp_path_factory.mktemp("sweep") / "out"
    return sweep(
        package.from_toml(SMALL), [COUNTS, AQMS], out, write_report=write_sweep_report
    ), out


class TestAxis:
    @pytest.mark.parametrize(
        ("text", "values", "places"),
        [
            ("a.b=1,2.5", ("1", "2.5"), ([1.0, 2.5], "")),
            ("a=10 Mbit/s, 1 Gbit/s", ("10 Mbit/s", "1 Gbit/s"), ([10.0, 1000.0], "Mbit/s")),
            ("a=500 us,1 ms", ("500 us", "1 ms"), ([500.0, 1000.0], "us")),
            ("a=red,pie", ("red", "pie"), None),
            ("a=1,red", ("1", "red"), None),
            ("a=['x, y', 'z'],['q']", ("['x, y', 'z']", "['q']"), None),
            ('a={name="red", max_p=0.1},pie', ('{name="red", max_p=0.1}', "pie"), None),
        ],
    )
    def test_is_read(self, text: str, values: tuple[str, ...], places: object) -> None:
        axis = Axis.parse(text)
        assert axis.values == values
        assert axis.places == places

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a.b", "expected PATH=VALUE,VALUE"),
            ("a=", "expected PATH=VALUE,VALUE"),
            ("a=1,,2", "expected PATH=VALUE,VALUE"),
            ("=1", "expected PATH=VALUE,VALUE"),
            ("a=1,2,1", 'got "1" again'),
            ("seed=1,2", "expected a setting that affects the simulation"),
        ],
    )
    def test_a_mistake_is_explained(self, text: str, said: str) -> None:
        with pytest.raises(MarqueueError, match="over: ") as raised:
            Axis.parse(text)
        assert said in str(raised.value)

    @pytest.mark.parametrize(
        ("text", "head", "values"),
        [
            ("a.b=1,20", "a.b", [1, 20]),
            ("a=1,2.5", "a", [1.0, 2.5]),
            ("a.delay=5 ms,1 s", "a.delay [s]", [0.005, 1.0]),
            ("a=10 Mbit/s,1 Gbit/s", "a [bit/s]", [1e7, 1e9]),
            ("a=15 kB,1 MB", "a [bytes]", [15e3, 1e6]),
            ("a=50 packets,1 packet", "a [packets]", [50.0, 1.0]),
            ("a=30 /s,5 Hz", "a [1/s]", [30.0, 5.0]),
            ("a=1 Gcycles/s,25 MHz", "a [cycles/s]", [1e9, 25e6]),
            ("a=2 cycles/bit,0.5 cycles/bit", "a [cycles/bit]", [2.0, 0.5]),
            ("a=1%,0.1 %", "a", [0.01, 0.001]),
            ("a=50 packets,150 kB", "a", ["50 packets", "150 kB"]),
            ("a=red,pie", "a", ["red", "pie"]),
            ("a=true,false", "a", ["true", "false"]),
        ],
    )
    def test_is_a_column_in_si_units(self, text: str, head: str, values: list[object]) -> None:
        assert Axis.parse(text).column == (head, values)

    @pytest.mark.parametrize(
        ("paths", "expected"),
        [
            (["topology.bottleneck.aqm"], ["aqm"]),
            (["topology.bottleneck.aqm", "traffic.long.count"], ["aqm", "count"]),
            (
                ["topology.bottleneck.aqm", "topology.reverse.aqm"],
                ["bottleneck.aqm", "reverse.aqm"],
            ),
            (["topology.hops.0.aqm", "topology.hops.1.aqm"], ["0.aqm", "1.aqm"]),
            (["a.x.delay", "b.x.delay", "c.rate"], ["a.x.delay", "b.x.delay", "rate"]),
            (["sample", "a.sample"], ["sample", "a.sample"]),
        ],
    )
    def test_is_called_by_the_shortest_end_that_differs(
        self, paths: list[str], expected: list[str]
    ) -> None:
        assert labels([Axis(path, ("1",)) for path in paths]) == expected


class TestGrid:
    def test_has_all_combinations(self, small: Scenario) -> None:
        points = grid(small, [Axis.parse(COUNTS), Axis.parse(AQMS)])
        assert [(p.number, *p.values) for p in points] == [
            (1, "2", "red"),
            (2, "2", '{name="pie"}'),
            (3, "6", "red"),
            (4, "6", '{name="pie"}'),
        ]
        assert points[3].scenario == with_overrides(
            small, ["traffic.long.count=6", "topology.bottleneck.aqm=pie"]
        )

    def test_every_value_that_cannot_be_right_is_named(self, small: Scenario) -> None:
        axes = [Axis.parse("traffic.long.count=2,many,-3"), Axis.parse("sample=1 s,1 V")]
        with pytest.raises(ScenarioError) as raised:
            grid(small, axes)
        message = str(raised.value)
        for said in (
            'traffic.long.count: got "many"',
            "traffic.long.count: got -3",
            'sample: got "1 V"',
        ):
            assert said in message
        assert len(message.splitlines()) == 3

    def test_a_path_that_is_not_there_is_named(self, small: Scenario) -> None:
        with pytest.raises(ScenarioError, match=r"topology\.bottleneck\.bufer: unknown key"):
            grid(small, [Axis.parse("topology.bottleneck.bufer=1,2")])

    def test_nonsense_is_refused(self, small: Scenario) -> None:
        with pytest.raises(MarqueueError, match="got nothing"):
            grid(small, [])
        with pytest.raises(MarqueueError, match=r'"traffic\.long\.count" again'):
            grid(small, [Axis.parse(COUNTS), Axis.parse(COUNTS)])
        many = "sample=" + ",".join(f"{i} ms" for i in range(1, 102))
        axes = [Axis.parse(many), Axis.parse(many.replace("sample", "duration"))]
        with pytest.raises(MarqueueError, match="at most 10000 points"):
            grid(small, axes)


class TestSweep:
    def test_a_point_is_the_run_of_its_scenario(self, swept: tuple[Sweep, Path]) -> None:
        points, out = swept
        for each in points.points:
            alone = run(each.point.scenario)
            found = package.Result.load(out / each.directory)
            assert found.summary() == alone.summary()
            assert all(table.equals(found.tables[name]) for name, table in alone.tables.items())

    def test_points_have_the_same_seeds(self, swept: tuple[Sweep, Path]) -> None:
        points, out = swept
        seeds = [package.Result.load(out / p.directory).provenance.seeds for p in points.points]
        assert len(seeds) == 4
        assert all(each == seeds[0] for each in seeds)

    def test_the_tables_hold_every_figure(self, swept: tuple[Sweep, Path]) -> None:
        points, out = swept
        table = pq.read_table(out / "figures.parquet")
        assert table.equals(points.figures())
        [row] = [
            row
            for row in table.to_pylist()
            if (row["point"], row["link"], row["figure"]) == (3, "bottleneck", "delay_p99")
        ]
        expected = package.Result.load(out / "points/3").link().figures()["delay_p99"]
        assert (row["mean"], row["half_width"], row["n"]) == (
            expected.mean,
            expected.half_width,
            3,
        )
        assert (row["traffic.long.count"], row["unit"], row["partial"]) == (6, "s", False)
        with (out / "figures.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == table.num_rows
        assert float(rows[0]["mean"]) == table["mean"][0].as_py()

    def test_is_a_data_frame(self, swept: tuple[Sweep, Path]) -> None:
        points, _ = swept
        frame = points.to_pandas()
        shown = frame[(frame.figure == "jain") & frame.group.isna() & frame["class"].isna()]
        means = shown.pivot(
            index="traffic.long.count", columns="topology.bottleneck.aqm", values="mean"
        )
        assert list(means.index) == [2, 6]
        expected = package.Result.load(swept[1] / "points/3").traffic()["jain"].mean
        assert means.loc[6, "red"] == expected
        assert points.to_polars().height == len(frame) == points.figures().num_rows

    def test_the_summary_is_the_file(self, swept: tuple[Sweep, Path]) -> None:
        points, out = swept
        assert json.loads((out / "summary.json").read_text()) == points.summary()

    def test_the_report_draws_a_curve_a_value(self, swept: tuple[Sweep, Path]) -> None:
        page = (swept[1] / "report.html").read_text()
        assert page.count('<figure class="static">') == 1
        for said in ("aqm = red", "traffic.long.count", "Utilization at bottleneck", "seed 1 at"):
            assert said in page

    @needs_script
    def test_the_report_has_every_estimate_for_its_pictures(
        self, swept: tuple[Sweep, Path]
    ) -> None:
        points, out = swept
        grid = embedded((out / "report.html").read_text())["grid"]
        titles = [each["title"] for each in grid["figures"]]
        assert titles[:4] == [each.figure.title for each in points.choose()]
        assert "Jain's index, long flows" in titles
        assert [each["label"] for each in grid["axes"]] == points.labels
        assert grid["axes"][0]["numbers"] == [2.0, 6.0]
        assert grid["axes"][1]["numbers"] is None
        assert [titles[i] for i in grid["pareto"]] == ["Utilization", "Queueing delay, p99 [ms]"]
        for drawn, each in zip(grid["points"], points.points, strict=True):
            values = [axis["names"][i] for axis, i in zip(grid["axes"], drawn["at"], strict=True)]
            assert values == list(each.point.values)
            for (mean, half_width), chosen in zip(drawn["values"], points.choose(), strict=False):
                expected = each.estimate(chosen)
                assert mean == pytest.approx(expected.mean, rel=1e-5)
                assert half_width == pytest.approx(expected.half_width, rel=1e-5)

    def test_the_same_bytes_for_any_number_of_jobs(
        self, swept: tuple[Sweep, Path], tmp_path: Path
    ) -> None:
        asked = package.from_toml(SMALL), [COUNTS, AQMS], tmp_path / "one"
        sweep(*asked, jobs=1, write_report=write_sweep_report)
        for name in ("summary.json", "figures.parquet", "figures.csv", "report.html"):
            assert (tmp_path / "one" / name).read_bytes() == (swept[1] / name).read_bytes(), name

    def test_each_point_may_stop_by_itself_and_find_its_warmup(
        self, small: Scenario, tmp_path: Path
    ) -> None:
        auto = with_overrides(small, ["warmup=auto", "sample=10 ms"])
        points = sweep(auto, [COUNTS], tmp_path / "out", until=["utilization ±5%"]).points
        for each in points:
            alone = run(each.point.scenario, until=["utilization ±5%"])
            assert each.summary == json.loads(json.dumps(alone.summary()))

    def test_an_existing_directory_is_left_alone(self, swept: tuple[Sweep, Path]) -> None:
        with pytest.raises(MarqueueError, match="holds a result"):
            sweep(package.from_toml(SMALL), [COUNTS], swept[1])


class TestCommand:
    @pytest.mark.parametrize("width", [50, 80, 200])
    def test_its_table_fits_the_terminal(self, swept: tuple[Sweep, Path], width: int) -> None:
        """No number is broken, at whatever width; nothing reaches beyond the terminal."""
        points, _ = swept
        console = Console(width=width, file=io.StringIO())
        console.print(sweep_table(points, width=width))
        assert isinstance(console.file, io.StringIO)
        lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
        assert max(map(len, lines)) <= width
        for point in points.points:
            for each in points.choose():
                number = str(point.estimate(each))
                assert any(number in line for line in lines)
        assert any(line.count("±") > 1 for line in lines) == (width > 50)

    def test_prints_a_table_and_writes_a_directory(
        self, marqueue, small_file: Path, tmp_path: Path
    ) -> None:
        done = marqueue("sweep", small_file, "--over", COUNTS, "--figure", "jitter", "-r", "2")
        assert done.returncode == 0, done.stderr
        assert "Delay variation" in done.stdout
        out = tmp_path / "results/sweep-small"
        assert {path.name for path in out.iterdir()} == {
            "circumstances.json",
            "figures.csv",
            "figures.parquet",
            "points",
            "provenance.json",
            "report.html",
            "scenario.toml",
            "summary.json",
        }
        assert {path.name for path in (tmp_path / "results").iterdir()} == {
            "latest",
            "sweep-small",
        }

    def test_json_is_all_that_is_printed(self, marqueue, small_file: Path, tmp_path: Path) -> None:
        done = marqueue("sweep", small_file, "--over", COUNTS, "-r", "1", "--json", "-o", "out")
        assert done.stderr == ""
        assert json.loads(done.stdout) == json.loads((tmp_path / "out/summary.json").read_text())

    def test_two_queues_of_one_scenario_are_told_apart(
        self, marqueue, small_file: Path, tmp_path: Path
    ) -> None:
        """In the table, in the legends and axes of the report, and in its table of points."""
        reverse = '{rate="10 Mbit/s", delay="5 ms", buffer="50 packets", aqm="droptail"}'
        done = marqueue(
            *("sweep", small_file, "--set", f"topology.reverse={reverse}", "-r", "1"),
            *("--over", "topology.bottleneck.aqm=red,pie"),
            *("--over", "topology.reverse.aqm=droptail,codel", "-o", "out"),
        )
        assert done.returncode == 0, done.stderr
        assert re.search(r"bottleneck\.aqm +reverse\.aqm +link", done.stdout)
        page = (tmp_path / "out/report.html").read_text()
        drawn = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
        assert len(drawn) == 1
        for svg in drawn:
            for said in ("bottleneck.aqm", "reverse.aqm = droptail", "reverse.aqm = codel"):
                assert said in svg
            assert "topology." not in svg
        assert ">bottleneck.aqm</th>" in page
        if built():
            grid = embedded(page)["grid"]
            assert [each["label"] for each in grid["axes"]] == ["bottleneck.aqm", "reverse.aqm"]
            titles = [each["title"] for each in grid["figures"]]
            assert {"Utilization, bottleneck", "Utilization, reverse"} <= set(titles)

    def test_figures_of_flows_are_printed_drawn_and_in_the_tables(
        self, marqueue, small_file: Path, tmp_path: Path
    ) -> None:
        figures = ["jain", "long.goodput", "40 ms.goodput_per_flow", "bottleneck.jitter"]
        options = [part for name in figures for part in ("--figure", name)]
        over = ["--over", "topology.bottleneck.delay=5 ms,10 ms", "-r", "2", "-o", "out"]
        done = marqueue("sweep", small_file, *over, *options)
        assert done.returncode == 0, done.stderr
        for said in ("Jain's index", "Delay variation", "long", "40 ms"):
            assert said in done.stdout
        page = (tmp_path / "out/report.html").read_text()
        assert page.count('<figure class="static">') == 1
        assert "Jain's index of long flows: all flows is" in html.unescape(page)
        if built():
            titles = [each["title"] for each in embedded(page)["grid"]["figures"]]
            assert titles[:2] == ["Jain's index, long flows", "Goodput, total [Mbit/s], long"]
        assert "--figure jain" in page
        with (tmp_path / "out/figures.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        [first] = [
            row
            for row in rows
            if (row["point"], row["class"], row["figure"]) == ("1", "40 ms", "goodput_per_flow")
        ]
        assert float(first["topology.bottleneck.delay [s]"]) == 0.005
        point = package.Result.load(tmp_path / "out/points/1")
        expected = point.traffic(class_="40 ms")["goodput_per_flow"]
        assert float(first["mean"]) == pytest.approx(expected.mean)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "over: got nothing"),
            (["--over", "traffic.long.count"], "expected PATH=VALUE,VALUE"),
            (["--over", "traffic.lon.count=1,2"], 'did you mean "long"?'),
            (["--over", "traffic.long.count=1,x"], 'got "x"'),
            (["--over", COUNTS, "--figure", "utilisation"], 'did you mean "utilization"?'),
            (["--over", COUNTS, "--figure", "jian"], "goodput, goodput_per_flow, flows, jain"),
            (["--over", COUNTS, "--figure", "lon.jain"], "one of long, short, 40 ms, 80 ms"),
            (["--over", COUNTS, "--until", "nothing ±1%"], "until: figure"),
        ],
    )
    def test_a_mistake_is_a_message_before_anything_runs(
        self, marqueue, small_file: Path, tmp_path: Path, arguments: list[str], said: str
    ) -> None:
        done = marqueue("sweep", small_file, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert [each.name for each in tmp_path.iterdir()] == ["small.toml"]

    def test_limits_are_said_of_points_and_of_the_whole(
        self, marqueue, small_file: Path, tmp_path: Path
    ) -> None:
        done = marqueue("sweep", small_file, "--over", COUNTS, "--max-events", "3000", "-o", "out")
        assert done.returncode == 3
        said = "Partial result: 2 of 2 points were ended by a limit and are partial: 1, 2."
        assert said in done.stderr
        assert said in (tmp_path / "out/report.html").read_text()
        table = pq.read_table(tmp_path / "out/figures.parquet")
        assert all(table["partial"].to_pylist())

    def test_what_had_no_time_is_missing_and_goes_on(
        self, marqueue, small_file: Path, tmp_path: Path
    ) -> None:
        # The limit is looked at ten times a second: no machine ends forty replications before that.
        long = ["--set", "duration=120 s", "-r", "40", "--over", "traffic.long.count=2,3"]
        first = marqueue("sweep", small_file, *long, "--out", "out", "--max-time", "10 ms")
        assert first.returncode == 2
        assert "before any point was complete" in first.stderr
        resumed = marqueue("sweep", small_file, *long, "--out", "out", "--resume")
        assert resumed.returncode == 0, resumed.stderr
        assert len(json.loads((tmp_path / "out/summary.json").read_text())["points"]) == 2


class TestManyLinks:
    @pytest.fixture(scope="class")
    @classmethod
    def lot(cls) -> Scenario:
        hops = [
            {"rate": f"{2 + hop} Mbit/s", "delay": "1 ms", "buffer": "20 packets"}
            for hop in range(14)
        ]
        return package.from_dict(
            {
                "name": "lot",
                "duration": "2 s",
                "replications": 1,
                "topology": {"kind": "parking-lot", "hops": hops},
                "traffic": [{"name": "all", "kind": "tcp", "count": 15, "jitter": "0 s"}],
            }
        )

    def test_few_are_shown(self, lot: Scenario, tmp_path: Path) -> None:
        found = sweep(lot, ["traffic.all.count=15,30"], tmp_path / "out")
        shown = found.shown_links
        assert len(shown) == FEW_LINK_COLUMNS < len(lot.topology.hops)
        drops = {
            name: sum(
                point.summary["measured"]["links"][name]["drops"]["mean"] for point in found.points
            )
            for name in found.points[0].summary["measured"]["links"]
        }
        assert min(drops[name] for name in shown) >= max(
            of for name, of in drops.items() if name not in shown
        )
        assert {each.subject.name for each in found.choose(["delay_p99"])} == shown
        text = io.StringIO()
        Console(file=text, width=200).print(sweep_table(found))
        assert "9 more are in figures.csv" in " ".join(text.getvalue().split())
        # One that is named is shown.
        [other, *_] = sorted(set(drops) - shown)
        [chosen] = found.choose([f"{other}.delay_p99"])
        assert chosen.subject.name == other
        assert found.shown_remark([f"{other}.delay_p99", "jain"]) is None

    def test_one_that_is_named_has_figures_where_summaries_do_not_list_it(
        self, lot: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("marqueue.results.summary.MOST_LISTED", 3)
        figures = [f"hop {hop}.queue_mean" for hop in range(1, 15)]
        found = sweep(lot, ["traffic.all.count=15,30"], tmp_path / "out", figures=figures)
        for point in found.points:
            result = package.Result.load(tmp_path / "out" / point.directory)
            assert len(result.summary()["measured"]["links"]) == 3
            for each in found.choose(figures):
                expected = result.link(each.subject.name).figures()["queue_mean"]
                assert point.estimate(each) == expected
