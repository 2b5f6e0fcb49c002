"""PIE, CoDel and FQ-CoDel by the rules of their RFCs."""

import json
import math

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import both_sides, check, codel, pie
from marqueue.errors import ModelError
from marqueue.scenario import from_dict

MS = 1e-3


def test_pie_at_its_defaults_has_the_gains_of_the_rfc() -> None:
    assert pie.gains() == pytest.approx((1 / 8, 5 / 4))


def test_half_the_update_interval_halves_alpha_and_adds_a_quarter_of_it_to_beta() -> None:
    # RFC 8033, section 4.2: 0.125 / 2, and 1.25 + 0.125 / 4.
    assert pie.gains(period=7.5 * MS) == pytest.approx((0.0625, 1.28125))


def test_a_hundredth_of_the_target_asks_for_gains_a_hundred_times_as_high() -> None:
    assert pie.gains(target=0.15 * MS) == pytest.approx((12.5, 125))
    assert pie.gains(target=30 * MS) == pytest.approx((1 / 8, 5 / 4)), "no rule for higher targets"


def test_the_update_interval_does_not_change_the_loop() -> None:
    a, b = (pie.design(4167, 50, 0.1, period=t * MS) for t in (15, 5))
    assert a.root == pytest.approx(b.root)
    assert a.boundary / a.chosen == pytest.approx(b.boundary / b.chosen)


@pytest.mark.parametrize(("p", "divided"), [(9e-7, 2048), (1e-6, 512), (5e-4, 32), (0.1, 1)])
def test_gains_are_tuned_by_the_table_of_the_rfc(p: float, divided: float) -> None:
    assert pie.tuning(p) == 1 / divided


def test_pie_keeps_the_rfcs_gains_where_their_margin_is_two_and_lowers_them_elsewhere() -> None:
    kept = pie.design(4167, 50, 0.1)
    assert kept.chosen == 1 / 8
    assert kept.margins is not None
    assert kept.margins.gain >= 2
    lowered = pie.design(4167, 5, 0.095, most_flows=200)
    assert lowered.margins is not None
    assert lowered.margins.gain == pytest.approx(2, rel=1e-6)
    assert lowered.rules[1].bound == 1 / 8
    assert lowered.setting.beta / lowered.setting.alpha == pytest.approx(10)


def test_the_weakest_number_of_flows_is_just_above_a_step_of_the_tuning() -> None:
    found = pie.design(4167, 5, 0.095, most_flows=200)
    # p = 2 (N / (R C))^2 = 1e-3, from which the gains are divided by 8 and no longer by 32.
    assert found.setting.flows == pytest.approx(0.095 * 4167 * math.sqrt(1e-3 / 2))
    for flows in (5, 7, 12, 20, 60, 150, 200):
        other = pie.design(4167, flows, 0.095)
        assert other.boundary is None or other.boundary > found.boundary


def test_the_nonlinear_model_of_pie_grows_and_decays_as_roots_say() -> None:
    inside, outside = check(pie.design(1000, 20, 0.2))
    assert inside.linear < 0 < outside.linear
    for trial in (inside, outside):
        assert trial.measured == pytest.approx(trial.linear, rel=0.03)


@pytest.mark.parametrize(
    ("rtt", "interval", "target"),
    [(100, 100, 5), (80, 80, 5), (200, 200, 10), (20, 20, 2), (0.2, 0.2, 0.02)],
)
def test_the_target_is_five_ms_within_five_to_ten_percent(
    rtt: float, interval: float, target: float
) -> None:
    found = codel.design(1e6, 5, rtt * MS).configure
    assert found["interval"].number == pytest.approx(interval)
    assert found["target"].number == pytest.approx(target)


def test_a_slow_link_has_time_for_two_packets_and_the_interval_grows_by_the_wait() -> None:
    found = codel.design(1e6 / 8 / 1500, 5, 0.1).configure
    assert found["target"].number == pytest.approx(24)
    assert found["interval"].number == pytest.approx(100 + 24 - 10)


def test_queues_are_as_many_as_the_rfcs_example_and_doubled_for_more_flows() -> None:
    assert codel.alone(100, 1024) == pytest.approx(0.9078, abs=5e-5)
    found = [codel.design_fq(1e6, 1, 0.1, 1500, most).configure["queues"].number
             for most in (100, 200, 2000)]  # fmt: skip
    assert found == [1024, 2048, 32768]
    assert codel.design_fq(1e6, 1, 0.1, 9000).configure["quantum"].number == 9014


def test_packets_of_codel_lose_utilization_on_one_side_and_gain_delay_on_the_other() -> None:
    sides = both_sides(codel.design(600, 2, 0.05))
    assert sides.shorter_loses is True
    assert sides.longer_delays is True


@pytest.mark.parametrize("of", ["pie", "codel", "fq_codel"])
def test_what_is_designed_is_an_aqm_of_scenarios(of: str) -> None:
    aqm = {
        "pie": lambda: pie.design(1000, 20, 0.2).setting.aqm,
        "codel": lambda: codel.design(1000, 20, 0.2).aqm,
        "fq_codel": lambda: codel.design_fq(1000, 20, 0.2, 1500).aqm,
    }[of]()
    bottleneck = {"rate": "8 Mbit/s", "delay": "1 ms", "buffer": "100 packets", "aqm": dict(aqm)}
    topology = {"kind": "dumbbell", "rtts": ["9 ms"], "bottleneck": bottleneck}
    data = {"name": "a", "duration": "1 s", "topology": topology, "traffic": [{"kind": "tcp"}]}
    assert from_dict(data).topology.bottleneck.aqm.name == of


def test_outside_its_assumptions_a_design_is_refused() -> None:
    with pytest.raises(ModelError, match=r"target: got 0.1 s, expected less than the round trip"):
        pie.design(1000, 20, 0.1, target=0.1)
    with pytest.raises(ModelError, match=r"t-update: got 0.1 s, expected at most a third"):
        pie.design(1000, 20, 0.1, period=0.1)
    with pytest.raises(ModelError, match="most-flows: got 10, expected at least flows: 20"):
        pie.design(1000, 20, 0.1, most_flows=10)
    with pytest.raises(ModelError, match="rtt: got 0, expected a finite number above 0"):
        codel.design(1000, 20, 0)
    with pytest.raises(ModelError, match="packets: a replication would have"):
        both_sides(codel.design(1e6, 20, 0.1))


def test_the_commands() -> None:
    link = "--capacity 50Mbit/s --packet 1500B --flows 5 --rtt 80ms"
    found = json.loads(CliRunner().invoke(app, f"design codel {link} --json".split()).stdout)
    assert found["configure"]["target"] == {
        "value": 5.0, "unit": "ms", "source": "RFC 8289, section 4.3",
        "rule": "0.0625 of the interval, 5 ms within .05 to .1 of it",
    }  # fmt: skip
    assert found["margins"] is None
    text = CliRunner().invoke(app, f"design fq_codel {link} --most-flows 200".split()).stdout
    assert "Margins: none. CoDel has no equilibrium" in text
    refused = CliRunner().invoke(app, f"design codel {link} --check".split())
    assert "--check: codel has no linear model: expected --packets" in str(refused.exception)
