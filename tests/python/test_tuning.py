"""Settings of a scenario in the hands of Optuna and SALib (docs/howto/tuning.md runs both)."""

import numpy as np
import optuna
import pytest

from marqueue import MarqueueError, Scenario, run, with_overrides
from marqueue.tuning import Range, Response

MAX_P = "topology.bottleneck.aqm.max_p=0.01..0.5 log"
COUNT = "traffic.long.count=2..6"


@pytest.fixture
def short(small: Scenario) -> Scenario:
    return with_overrides(small, ["replications=1", "duration=2 s"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b=1 ms..50 ms log", Range("a.b", 1.0, 50.0, "ms", is_log=True, is_whole=False)),
        ("a=2..6", Range("a", 2.0, 6.0, "", is_log=False, is_whole=True)),
        ("a=-2..6", Range("a", -2.0, 6.0, "", is_log=False, is_whole=True)),
        ("a=0.5..6", Range("a", 0.5, 6.0, "", is_log=False, is_whole=False)),
        ("a = 1e-3 .. .5", Range("a", 1e-3, 0.5, "", is_log=False, is_whole=False)),
        ("a=5 packets..90 packets", Range("a", 5.0, 90.0, "packets", is_log=False, is_whole=True)),
        ("a=5 packets..1.5 packets", None),
        ("a=0..1 log", None),
        ("a=1 ms..2 s", None),
        ("a=1", None),
    ],
)
def test_ranges_are_read(text: str, expected: Range | None) -> None:
    if expected is not None:
        assert Range.parse(text) == expected
        return
    with pytest.raises(MarqueueError, match=r"range: got .*, expected"):
        Range.parse(text)


def test_values_become_settings() -> None:
    assert Range.parse("a=1 ms..50 ms").override(2.5) == "a=2.5 ms"
    assert Range.parse("a=2..6").override(3.6) == "a=4"


def test_a_measurement_is_a_run(short: Scenario) -> None:
    response = Response(short, [COUNT, MAX_P], ["delay_p99", "long.goodput"])
    assert [name.split(":")[0] for name in response.names] == ["link bottleneck", "group long"]
    [found] = response.measure([4, 0.1])
    alone = run(
        with_overrides(short, ["traffic.long.count=4", "topology.bottleneck.aqm.max_p=0.1"])
    )
    delay = alone.link().figures()["delay_p99"].mean
    assert found[0] == pytest.approx(1e3 * delay)
    assert found[1] == pytest.approx(1e-6 * alone.traffic(group="long")["goodput"].mean)


def test_optuna_asks_and_is_told(short: Scenario) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    response = Response(short, [COUNT, MAX_P], ["delay_p99"])
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(response.objective, n_trials=2)
    for trial in study.trials:
        count = trial.params["traffic.long.count"]
        assert isinstance(count, int)
        [[found]] = response.measure([count, trial.params["topology.bottleneck.aqm.max_p"]])
        assert trial.value == found


def test_salib_gets_the_problem(short: Scenario) -> None:
    problem = Response(short, [COUNT, MAX_P], ["delay_p99"]).problem
    assert problem["bounds"] == [[2.0, 6.0], [0.01, 0.5]]
    assert problem["dists"] == ["unif", "logunif"]


@pytest.mark.parametrize(
    ("ranges", "figures", "said"),
    [
        (["topology.bottleneck.aqm.maxp=0.1..0.2"], ["delay_p99"], "maxp"),
        (["traffic.long.count=-3..6"], ["delay_p99"], "traffic.long.count"),
        ([COUNT, COUNT], ["delay_p99"], "expected each path once"),
        ([COUNT], ["delay"], "figure"),
        ([COUNT], [], "expected at least one of each"),
    ],
)
def test_mistakes_are_told(
    short: Scenario, ranges: list[str], figures: list[str], said: str
) -> None:
    with pytest.raises(MarqueueError, match=said):
        Response(short, ranges, figures)


def test_rows_of_another_length_are_refused(short: Scenario) -> None:
    with pytest.raises(MarqueueError, match="got 1 values, expected 2"):
        Response(short, [COUNT, MAX_P], ["delay_p99"]).measure(np.ones((3, 1)))
