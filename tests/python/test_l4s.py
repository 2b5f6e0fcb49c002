"""Prague beside CUBIC through a dual queue: the example, and the measured rows."""

from pathlib import Path

import numpy as np
import pytest

import marqueue
from marqueue.results import Result
from marqueue.scenario import load
from marqueue.validation import l4s

EXAMPLE = Path(marqueue.__file__).parent / "examples" / "l4s.toml"


@pytest.fixture(scope="module")
def result() -> Result:
    scenario = load(EXAMPLE)
    return marqueue.run(scenario.model_copy(update={"replications": 2}))


def rate(result: Result, group: str) -> float:
    return float(np.mean([flows.rates.sum() for flows in result.flow_sets(group=group)]))


def test_the_rates_have_the_ratio_of_the_round_trips(result: Result) -> None:
    # Prague's window is 2/p_L, that of CUBIC, which is small enough to be Reno's, 1.22/sqrt(p_C),
    # and the coupling gives p_L = 2 sqrt(p_C): the same within a quarter. CUBIC's round trip has
    # the target of its queue, 15 ms, beyond the 20 ms.
    ratio = rate(result, "Prague") / rate(result, "CUBIC")
    assert 35 / 20 * 0.75 < ratio < 35 / 20 * 1.25


def test_the_link_is_full_and_nothing_is_lost(result: Result) -> None:
    figures = result.link().figures()
    assert figures["utilization"].mean > 0.99
    assert figures["loss_ratio"].mean == 0.0


def test_packets_of_prague_hardly_wait(result: Result) -> None:
    # More than half of all packets are Prague's: their median is at least that of all.
    assert result.link().figures()["delay_p50"].mean < 0.002


def test_the_table_of_measured_rows_is_whole() -> None:
    rows = l4s.measured()
    assert len(rows) == 144
    assert {row.qdisc for row in rows} == set(l4s.QUEUES)
    assert all(0 < sum(row.rates) < row.rate for row in rows)
    for row in rows:
        one, other = row.rates
        jain = (one + other) ** 2 / (2 * (one**2 + other**2))
        assert 0.5 <= jain <= 1.0
