import io
import json
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
import rich.console

from marqueue import MarqueueError, Result, load, run
from marqueue.errors import ResultError
from marqueue.reports import save_with_report
from marqueue.results import LINK_FIGURES, columns
from marqueue.results.window_columns import WindowColumns
from marqueue.statistics.estimates import Estimate, jain
from sample_runs import SCENARIO, sample_run


@pytest.fixture(scope="module")
def result() -> Result:
    return sample_run()


@pytest.fixture(scope="module")
def trace(result: Result) -> dict[str, np.ndarray]:
    """Every packet at the bottleneck in the first replication."""
    table = result.to_arrow("trace")
    here = pc.and_(pc.equal(table["replication"], 0), pc.equal(table["link"], "bottleneck"))
    first = table.filter(here)
    return {name: first[name].to_numpy() for name in first.column_names}


def files(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir()}


class TestFiles:
    def test_load_gives_what_was_saved(self, result: Result, tmp_path: Path) -> None:
        loaded = Result.load(result.save(tmp_path / "run"))
        assert loaded == result
        assert loaded.summary() == result.summary()

    def test_saving_is_a_function_of_the_result(self, result: Result, tmp_path: Path) -> None:
        first = files(save_with_report(result, tmp_path / "a"))
        again = files(save_with_report(Result.load(tmp_path / "a"), tmp_path / "b"))
        assert first == again
        assert set(first) == {
            "circumstances.json",
            "provenance.json",
            "plan.json",
            "scenario.toml",
            "summary.json",
            "series.parquet",
            "flows.parquet",
            "windows.parquet",
            "queue_histogram.parquet",
            "delay_histogram.parquet",
            "trace.parquet",
            "tcp.parquet",
            "bottleneck.pcapng",
            "report.html",
        }

    def test_data_do_not_depend_on_how_many_run_at_a_time(
        self, result: Result, tmp_path: Path
    ) -> None:
        one = files(result.save(tmp_path / "one"))
        two = files(sample_run(jobs=2).save(tmp_path / "two"))
        differ = {name for name in one if one[name] != two[name]}
        assert differ == {"circumstances.json"}, "it tells how long it took"

    def test_names_that_are_too_long_for_one_array_are_in_several(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An Arrow array has 2^31 bytes of text at most: 100,000 links with a thousand samples have
        more."""
        scenario = load(
            Path(__file__).parents[2] / "scenarios" / "parking-lot.toml",
            ["duration=45 s", "sample=1 s", "replications=2"],
        )
        whole = run(scenario)
        monkeypatch.setattr(columns, "MOST_TEXT", 1000)
        chunked = run(scenario)
        for name in ("series", "windows", "queue_histogram", "delay_histogram", "flows"):
            assert chunked.tables[name].equals(whole.tables[name])
        for name in ("series", "queue_histogram", "delay_histogram"):
            assert chunked.tables[name]["link"].num_chunks > 1
        for each in (chunked, Result.load(chunked.save(tmp_path / "run"))):
            for link in whole.links:
                assert each.link(link).figures() == whole.link(link).figures()
                ours, others = (of.link(link).series("queue")[1] for of in (each, whole))
                assert np.array_equal(ours, others)

    def test_an_existing_directory_is_left_alone(self, result: Result, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("precious")
        with pytest.raises(MarqueueError, match=r"holds mine\.txt"):
            result.save(tmp_path)
        assert files(tmp_path) == {"mine.txt": b"precious"}

    def test_what_is_not_whole_is_no_result(self, result: Result, tmp_path: Path) -> None:
        directory = result.save(tmp_path / "run")
        (directory / "provenance.json").unlink()
        with pytest.raises(ResultError, match="not a result"):
            Result.load(directory)

    def test_the_summary_is_json_without_nan(self, result: Result) -> None:
        text = json.dumps(result.summary(), allow_nan=False)
        assert json.loads(text)["measured"]["links"].keys() == {"bottleneck"}

    def test_can_be_sent_to_another_process(self, result: Result) -> None:
        result.link("bottleneck").figures()
        summary = result.summary()
        sent = pickle.loads(pickle.dumps(result))
        assert sent == result
        assert sent.summary() == summary

    def test_another_seed_is_another_result(self, result: Result) -> None:
        other = sample_run(seed=2)
        assert other != result
        assert other.summary()["measured"] != result.summary()["measured"]


class TestFrames:
    """Data frames without loops."""

    def test_figures_have_a_row_a_replication_and_part(self, result: Result) -> None:
        frame = result.to_pandas("figures")
        links = frame[frame.figure == "delay_p99"]
        assert list(links.value) == list(result.link("bottleneck").values("delay_p99"))
        assert set(links.link) == {"bottleneck"}
        assert set(links.unit) == {"s"}
        jain_of = frame[frame.figure == "jain"]
        for column, name in (("group", "long"), ("class", "20 ms")):
            sets = result.flow_sets(**{"class_" if column == "class" else "group": name})
            own = jain_of[jain_of[column] == name]
            assert list(own.replication) == [0, 1, 2]
            assert list(own.value) == [jain(each.long_rates) for each in sets]
        every = jain_of[jain_of[["link", "group", "class"]].isna().all(axis=1)]
        assert list(every.value) == [jain(each.long_rates) for each in result.flow_sets()]

    def test_figures_of_a_window(self, result: Result) -> None:
        table = result.figures(2).to_pylist()
        found = [row["value"] for row in table if row["figure"] == "utilization"]
        assert found == list(result.link().values("utilization", 2))

    def test_a_frame_knows_units(self, result: Result) -> None:
        units = result.to_pandas("flows").attrs["units"]
        assert units["goodput"] == "bit/s"
        assert units["fct"] == "s"
        assert "group" not in units

    def test_a_table_that_is_not_there_is_answered_with_those_that_are(
        self, result: Result
    ) -> None:
        with pytest.raises(KeyError, match=r"figures, series, windows"):
            result.to_pandas("figure")


class TestOneReplication:
    @pytest.fixture
    def one(self) -> Result:
        return sample_run(replications=1, sample="20 ms")

    def test_batch_means_are_those_of_the_series_after_the_warmup(self, one: Result) -> None:
        t, queue = one.link().series("queue")
        # 450 samples from 3 to 12 s; 20 batches take the last 440.
        last = queue[0, t > 3][10:].reshape(20, 22).mean(axis=1)
        found, expected = one.link().batch_means("queue"), Estimate.of(last)
        assert (found.mean, found.half_width, found.n) == (
            pytest.approx(expected.mean),
            pytest.approx(expected.half_width),
            20,
        )
        with pytest.raises(KeyError, match="queue_mean"):
            one.link().batch_means("queue_mean")

    def test_the_table_has_their_interval_and_says_so(self, one: Result) -> None:
        text = shown(one)
        row = next(line for line in text.splitlines() if "Queue, mean" in line)
        assert str(one.link().figures()["queue_mean"].mean)[:4] in row
        assert "±" in row
        assert "over 20 batch means of the time series (lag-1" in " ".join(text.split())
        loss = next(line for line in text.splitlines() if "Loss ratio" in line)
        assert "±" not in loss
        assert one.summary()["measured"]["links"]["bottleneck"]["queue_mean"]["half_width"] is None

    @pytest.mark.parametrize("sample", ["0 s", "50 ms"])
    def test_with_too_few_samples_there_is_none(self, sample: str) -> None:
        text = shown(sample_run(replications=1, sample=sample))
        assert "±" not in text
        assert "no confidence intervals" in text


def shown(result: Result) -> str:
    """The table as a terminal shows it."""
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(result.table())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class TestLink:
    """Figures of a link against its packet trace, which is recorded apart from the sums."""

    @pytest.mark.parametrize("window", [None, 0, 1, 2])
    def test_counts(self, result: Result, trace: dict[str, np.ndarray], window: int | None) -> None:
        begin, end = result.span(window)
        inside = (trace["t"] >= begin) & (trace["t"] < end)
        count = {k: int((inside & (trace["kind"] == k)).sum()) for k in set(trace["kind"])}
        measured = result.link().windows(window)[0]
        assert measured.dropped == count.get("drop", 0)
        assert measured.marked == count.get("mark", 0)
        assert measured.departures == count["depart"]
        assert measured.arrivals == count["arrive"]

    @pytest.mark.parametrize("window", [None, 0, 1, 2])
    def test_the_queue_is_weighted_by_time(
        self, result: Result, trace: dict[str, np.ndarray], window: int | None
    ) -> None:
        change = np.select(
            [trace["kind"] == "arrive", np.isin(trace["kind"], ["depart", "drop"])], [1, -1], 0
        )
        begin, end = result.span(window)
        t = np.clip(np.append(trace["t"], result.edges[-1]), begin, end)
        level = np.cumsum(change)
        mean = float(level @ np.diff(t)) / (end - begin)
        assert result.link().values("queue_mean", window)[0] == pytest.approx(mean, rel=1e-6)

    def test_the_delay_ends_where_transmission_begins(
        self, result: Result, trace: dict[str, np.ndarray]
    ) -> None:
        taken = (trace["kind"] == "arrive") & (np.append(trace["kind"][1:], "") != "drop")
        departs = trace["kind"] == "depart"
        out = trace["t"][departs]
        waited = out - trace["t"][taken][: len(out)]
        assert trace["sojourn"][departs] == pytest.approx(waited, abs=1e-9)
        begin, end = result.span()
        waited = waited[(out >= begin) & (out < end)]
        values = {f.name: result.link().values(f.name)[0] for f in LINK_FIGURES}
        assert values["delay_mean"] == pytest.approx(waited.mean(), rel=1e-6)
        assert values["delay_std"] == pytest.approx(waited.std(), rel=1e-6)
        assert values["delay_p95"] == pytest.approx(np.quantile(waited, 0.95), rel=0.02)
        assert values["jitter"] == pytest.approx(np.abs(np.diff(waited)).mean(), rel=0.01)

    def test_the_measured_time_is_all_windows_after_the_warmup(self, result: Result) -> None:
        link = result.link()
        for whole, first, second in zip(
            link.windows(), link.windows(1), link.windows(2), strict=True
        ):
            assert whole.arrivals == first.arrivals + second.arrivals
            assert whole.seconds == pytest.approx(9)
            assert whole.queue.sum() == pytest.approx(9)
        assert result.span() == (3, 12)

    def test_figures_are_estimates_over_replications(self, result: Result) -> None:
        link = result.link()
        assert link.figures()["queue_mean"] == Estimate.of(link.values("queue_mean"))
        windows = link.windows()
        pooled = sum(w.dropped for w in windows) / sum(w.arrivals for w in windows)
        assert link.figures()["loss_ratio"].mean == pytest.approx(pooled)

    @pytest.mark.parametrize("window", [None, 0, 1])
    def test_windows_together_have_the_figures_of_each(
        self, result: Result, window: int | None
    ) -> None:
        link = result.link("bottleneck")
        windows = link.windows(window)
        assert len(windows) > 1
        columns = WindowColumns.of_windows(windows)
        for figure in LINK_FIGURES:
            alone = [figure.value(each) for each in windows]
            np.testing.assert_array_equal(figure.of(columns).values, alone)
            expected = figure.estimate(windows, 0.95)
            assert repr(link.figures(window)[figure.name]) == repr(expected)

    def test_a_window_that_no_replication_reached_has_no_figures(self) -> None:
        columns = WindowColumns.of_windows([])
        assert all(figure.estimate(columns, 0.95).n == 0 for figure in LINK_FIGURES)

    def test_the_table_of_windows_has_the_figures(self, result: Result) -> None:
        table = result.to_pandas("windows").set_index(["replication", "link", "window"])
        for f in LINK_FIGURES:
            for w in range(3):
                stored = [table.loc[(r, "bottleneck", w), f.name] for r in range(3)]
                assert stored == pytest.approx(result.link().values(f.name, w), nan_ok=True)
        rows = table.loc[(0, "bottleneck", 1)]
        assert rows["utilization"] == rows["sent_bits"] / rows["capacity_bits"]

    def test_series_have_a_row_a_replication(self, result: Result) -> None:
        t, queue = result.link("bottleneck").series("queue")
        assert queue.shape == (3, len(t))
        assert np.diff(t) == pytest.approx(0.05)
        assert queue.max() <= 25
        assert {"queue", "utilization"} < set(result.link().units)
        assert result.link().probes

    def test_an_unknown_name_is_answered_with_those_that_exist(self, result: Result) -> None:
        with pytest.raises(KeyError, match="bottleneck"):
            result.link("neck")
        with pytest.raises(KeyError, match="utilization"):
            result.link().series("load")
        with pytest.raises(KeyError, match="windows"):
            result.to_arrow("nothing")


class TestFlows:
    def test_parts_make_the_whole(self, result: Result) -> None:
        whole = result.traffic()["goodput"].mean
        by_class = sum(result.traffic(class_=c)["goodput"].mean for c in result.classes)
        by_group = sum(result.traffic(group=g)["goodput"].mean for g in result.groups)
        assert result.classes == ["20 ms", "50 ms"]
        assert result.groups == ["long", "short"]
        assert whole == pytest.approx(by_class)
        assert whole == pytest.approx(by_group)
        assert 4e6 < whole <= 5e6

    def test_fairness_is_that_of_the_long_flows(self, result: Result) -> None:
        flows = result.to_pandas("flows")
        long = flows[(flows["group"] == "long") & (flows["replication"] == 0)]
        assert len(long) == 6
        delivered = long["delivered_1"] + long["delivered_2"]
        assert jain(result.flow_sets()[0].long_rates) == pytest.approx(jain(delivered))

    def test_completion_times_are_of_flows_that_began_in_the_window(self, result: Result) -> None:
        flows = result.to_pandas("flows")
        short = flows[(flows["group"] == "short") & (flows["replication"] == 1)]
        began = short[(short["start"] >= 3) & (short["start"] < 8)]
        measured = result.flow_sets(1)[1]
        assert measured.started == len(began)
        assert sorted(measured.completion_times) == sorted(began["fct"].dropna())
        assert result.traffic(0)["started"].mean > 0

    def test_a_flow_is_rated_over_the_time_that_it_was_there(self) -> None:
        leaves = {**SCENARIO["traffic"][0], "stop": "6 s", "count": 1}
        result = sample_run_of([leaves, SCENARIO["traffic"][0] | {"name": "rest", "count": 1}])
        flows = result.to_pandas("flows").query("replication == 0").set_index("group")
        bits = 8 * (flows["delivered_1"] + flows["delivered_2"])
        present = np.fmin(flows.loc["long", "end"], 6.0) - 3
        assert flows.loc["long", "goodput"] == pytest.approx(bits["long"] / present)
        assert flows.loc["rest", "goodput"] == pytest.approx(bits["rest"] / 9)
        assert len(result.flow_sets()[0].long_rates) == 1, "who left was not there throughout"

    def test_nothing_finite_means_no_completion_times(self) -> None:
        result = sample_run_of(SCENARIO["traffic"][:1])
        assert result.traffic()["fct_mean"].n == 0
        assert result.summary()["measured"]["flows"]["fct_mean"]["mean"] is None


def sample_run_of(traffic: list[dict[str, object]]) -> Result:
    return sample_run.__wrapped__(traffic=traffic)


class TestConversion:
    @pytest.mark.parametrize("name", ["figures", "series", "flows", "windows", "trace", "tcp"])
    def test_every_way_has_the_same_table(self, result: Result, name: str) -> None:
        arrow = result.to_arrow(name)
        assert result.to_polars(name).columns == arrow.column_names
        assert list(result.to_pandas(name).columns) == arrow.column_names
        assert result.to_polars(name).height == len(result.to_pandas(name)) == arrow.num_rows

    def test_a_missing_package_is_named(
        self, result: Result, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(ImportError, match=r"pip install 'marqueue\[polars\]'"):
            result.to_polars()

    def test_columns_carry_units(self, result: Result) -> None:
        schema = result.flows.schema
        assert schema.field("goodput").metadata[b"unit"] == b"bit/s"
        assert schema.field("fct").metadata[b"unit"] == b"s"


class TestWhatTheReaderIsTold:
    def test_the_table_shows_the_estimates(self, result: Result) -> None:
        text = shown(result)
        link = result.link().figures()
        assert str(link["utilization"]) in text
        assert str(link["delay_mean"].scaled(1e3)) in text
        assert "Queue, mean [packets]" in text
        assert "95%" in text

    def test_warnings(self, result: Result) -> None:
        careless = sample_run_of([{"name": "long", "kind": "tcp", "count": 2, "jitter": "0 s"}])
        assert any("jitter 0" in w for w in careless.summary()["warnings"])
        assert not any("jitter 0" in w for w in result.summary()["warnings"])
        assert any("One-way" in w for w in result.summary()["warnings"])
        single = sample_run(replications=1, warmup="0 s")
        assert any("One replication" in w for w in single.summary()["warnings"])
        assert any("warm-up" in w for w in single.summary()["warnings"])
        assert single.link().figures()["utilization"].half_width is None
        assert math.isfinite(single.link().figures()["utilization"].mean)
