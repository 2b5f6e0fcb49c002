"""A result with more flows than are kept in memory: its figures beside the exact ones, its file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from marqueue import Result, from_toml, run
from marqueue.reports import save_with_report
from marqueue.reports.run_charts import run_charts
from marqueue.results.many_flows import MANY
from marqueue.results.raw_flows import ROWS
from marqueue.results.subject import subjects
from marqueue.statistics.sketch import ERROR

SCENARIO = """
name = "Very many flows"
duration = "10 s"
warmup = "2 s"
replications = 2
sample = "1 s"

[topology]
kind = "dumbbell"
rtts = ["20 ms", "60 ms"]

[topology.bottleneck]
rate = "800 Mbit/s"
delay = "1 ms"
buffer = "1000 packets"
aqm = "pie"

[topology.access]
rate = "10 Gbit/s"
delay = "1 ms"

[[traffic]]
name = "long"
kind = "tcp"
count = 20

[[traffic]]
name = "short"
kind = "poisson"
rate = "26000 /s"
size = "2 packets"
"""

QUANTILES = {"fct_median", "fct_p95", "fct_p99"}


@pytest.fixture(scope="module")
def result() -> Result:
    return run(from_toml(SCENARIO))


@pytest.fixture(scope="module")
def exact(result: Result) -> Result:
    """The same with the table of flows in memory, as a result of few flows has it."""
    tables = {**result.tables, "flows": result.flows}
    return Result(result.scenario, result.plan, result.provenance, tables)


@pytest.fixture(scope="module")
def saved(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_with_report(result, tmp_path_factory.mktemp("many") / "run")


def test_it_keeps_no_table(result: Result, exact: Result) -> None:
    assert result.flow_count > MANY
    assert "flows" not in result.tables
    assert result.flow_count == exact.flows.num_rows == exact.flow_count


@pytest.mark.parametrize("window", [None, 0, 1])
def test_figures_are_the_exact_ones_but_for_quantiles(
    result: Result, exact: Result, window: int | None
) -> None:
    of_flows = subjects([], result.groups, result.classes)
    assert len(of_flows) == 5
    for subject in of_flows:
        found, expected = (each.traffic(window, **subject.selection) for each in (result, exact))
        assert {name for name, of in expected.items() if of.n} >= {"goodput", "flows", "started"}
        for name, of in expected.items():
            # Sums are added in another order.
            tolerance = ERROR if name in QUANTILES else 1e-12
            assert found[name].n == of.n, name
            assert found[name].mean == pytest.approx(of.mean, rel=tolerance, nan_ok=True), name


def test_counts_of_the_whole_run_are_equal(result: Result, exact: Result) -> None:
    for selection in ({}, {"group": "short"}, {"class_": result.classes[0]}):
        assert result.run_totals(**selection) == exact.run_totals(**selection)


def test_flows_of_a_group_and_a_class_together(result: Result, exact: Result) -> None:
    both = {"group": "short", "class_": result.classes[1]}
    found, expected = result.traffic(**both), exact.traffic(**both)
    assert expected["done"].mean > 50_000
    assert found["done"] == expected["done"]
    assert found["fct_p99"].mean == pytest.approx(expected["fct_p99"].mean, rel=ERROR)


def test_the_file_has_the_table_in_parts(saved: Path, exact: Result) -> None:
    file = pq.ParquetFile(saved / "flows.parquet")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert max(groups) == ROWS
    assert pq.read_table(saved / "flows.parquet").combine_chunks().equals(exact.flows)


def test_load_gives_what_was_saved(saved: Path, result: Result) -> None:
    loaded = Result.load(saved)
    assert "flows" not in loaded.tables
    assert loaded == result
    assert loaded.summary() == result.summary()


def test_it_says_that_quantiles_are_not_exact(result: Result, exact: Result, saved: Path) -> None:
    remark = f"With {result.flow_count:,} flows, quantiles of completion times are within 1%"
    assert remark in str(result.table())
    assert "quantiles of completion times" not in str(exact.table())
    assert remark in (saved / "report.html").read_text(encoding="utf-8")


def test_the_chart_of_completion_times_has_the_exact_shares(result: Result, exact: Result) -> None:
    curves = [_curve(each) for each in (result, exact)]
    assert curves[0].keys() == curves[1].keys() != set()
    for name, (at, share) in curves[1].items():
        sketched_at, sketched_share = curves[0][name]
        place = np.searchsorted(sketched_share, share[1:] - 1e-12)
        assert np.all(np.abs(sketched_at[place] / at[1:] - 1) <= ERROR * (1 + 1e-9)), name


def _curve(result: Result) -> Mapping[str, Any]:
    [chart] = [each for each in run_charts(result) if each.name == "fct-cdf"]
    return {curve.name: (np.asarray(curve.x), np.asarray(curve.y)) for curve in chart.curves}
