"""PI2 and DualPI2 by RFC 9332, Prague's and BBR's steady states: formulas, roots and packets."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue import run
from marqueue.cli import app
from marqueue.design import check, dualpi2, pi2
from marqueue.errors import ModelError
from marqueue.results import Result
from marqueue.scenario import from_dict
from marqueue.theory.steady_state.bbr import OperatingPoint
from marqueue.theory.steady_state.l4s import Coupling, prague_window

PACKETS = 50e6 / 12e3
"""Of a link of 50 Mbit/s, 1/s."""


def simulate(
    aqm: str, rtt: float, control: dict[str, int], duration: str = "24 s", **settings: Any
) -> Result:
    """Long flows by their window laws, at 50 Mbit/s."""
    return run(
        from_dict(
            {
                "name": aqm,
                "duration": duration,
                "warmup": "8 s",
                "replications": 1,
                "sample": "0 s",
                "topology": {
                    "kind": "dumbbell",
                    "rtts": [f"{rtt} s"],
                    "bottleneck": {
                        "rate": "50 Mbit/s", "delay": "1 ms", "buffer": "1000 packets", "aqm": aqm,
                    },
                    "access": {"rate": "1 Gbit/s"},
                },
                "transport": {
                    name: {"preset": "linux", "control": name} | settings for name in control
                },
                "traffic": [
                    {"name": name, "kind": "tcp", "transport": name, "count": count}
                    for name, count in control.items()
                ],
            }
        )
    )  # fmt: skip


def test_gains_are_those_of_figure_2() -> None:
    # "target = 15 ms, RTT_max = 100 ms": Tupdate 15 ms, alpha 0.15 Hz, beta 3 Hz.
    assert pi2.gains(0.015, 0.1) == pytest.approx((0.015, 0.15, 3.0))
    # A third of 30 ms is less than the target: 0.1 x 0.01 / 0.0009.
    assert pi2.gains(0.015, 0.03) == pytest.approx((0.01, 10 / 9, 10.0))


def test_the_loop_is_the_closed_form_where_windows_are_large() -> None:
    setting = pi2.design(PACKETS, 1, 0.1).setting
    # From well above the corner of TCP, 0.05 1/s.
    w = np.geomspace(3, 30, 30)
    s = 1j * w
    form = 2**0.5 / 0.1 * (10 + 3 * s) * np.exp(-0.1 * s) / (s**2 * (s + 10))
    assert setting.loop.response(w) == pytest.approx(form, rel=0.03)


@pytest.mark.parametrize("flows", [1, 10, 100])
@pytest.mark.parametrize("rtt", [0.04, 0.1])
def test_gains_are_stable_up_to_the_largest_round_trip(flows: float, rtt: float) -> None:
    setting = replace(pi2.design(PACKETS, flows, 0.1).setting, rtt=rtt)
    assert setting.root.real < 0


def test_the_nonlinear_model_grows_and_decays_as_roots_say() -> None:
    inside, outside = check(pi2.design(PACKETS, 50, 0.1))
    assert inside.linear < 0 < outside.linear
    for trial in (inside, outside):
        assert trial.measured == pytest.approx(trial.linear, rel=0.02)


def test_rates_balance_at_the_k_of_appendix_c() -> None:
    # At equal round trips k = 1.64 gives Reno and a scalable sender equal rates.
    even = Coupling(PACKETS, 4, 4, 0.05, 0.05, 1.64)
    assert even.fair == pytest.approx(1.64, rel=0.01)
    assert even.share == pytest.approx(0.5, abs=0.005)
    # Below 25 ms Prague has the rate of 25 ms.
    assert Coupling(PACKETS, 1, 1, 0.03, 0.01).ratio == Coupling(PACKETS, 1, 1, 0.03, 0.025).ratio
    longer = Coupling(PACKETS, 4, 4, 0.1, 0.05, 1.64)
    assert longer.ratio == pytest.approx(2 * even.ratio)
    # All rates together are the link's.
    mixed = Coupling(PACKETS, 3, 5, 0.075, 0.061)
    prague = 5 * prague_window(mixed.coupled) / 0.061
    assert prague / mixed.share == pytest.approx(PACKETS)


def test_packets_share_as_the_coupling_says_where_many_flows_keep_it_steady() -> None:
    found = simulate("dualpi2", 0.06, {"prague": 16, "reno": 16}, ecn=True)
    delivered = [found.flow_sets(group=name)[0].delivered.sum() for name in ("prague", "reno")]
    theory = Coupling(PACKETS, 16, 16, 0.075, 0.061)
    # One run of 16 s; over 60 s it is 0.49.
    assert delivered[0] / sum(delivered) == pytest.approx(theory.share, abs=0.05)
    marked = found.link("bottleneck").figures()["mark_ratio"].mean
    expected = theory.share * theory.coupled + (1 - theory.share) * theory.classic
    assert marked == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("flows", [4, 32])
def test_packets_of_prague_have_its_window(flows: int) -> None:
    # The bound is one of long-run means: one run of 24 s can exceed it (2.77 with four flows).
    found = simulate("pi2", 0.06, {"prague": flows}, "60 s", ecn=True).link("bottleneck")
    figures = found.figures()
    window = PACKETS * (0.06 + figures["delay_mean"].mean) / flows
    # W p: cuts wait for a mark of the next round trip, which with rare marks makes 1 + sqrt(3) of 2
    # (docs/theory/steady.md). With frequent marks it is below 2; why is undecided there.
    assert 1.4 < window * figures["mark_ratio"].mean < 1 + math.sqrt(3)


def test_packets_of_bbr_have_its_operating_points() -> None:
    alone, many = OperatingPoint(PACKETS, 0.08, 1000), OperatingPoint(PACKETS, 0.08, 1000, 8)
    one = simulate("droptail", 0.08, {"bbr1": 1}).link("bottleneck").figures()
    assert one["delay_p99"].mean * PACKETS == pytest.approx(alone.largest_queue, rel=0.25)
    assert one["queue_mean"].mean < 0.1 * alone.product
    # Each flow looks for the least round-trip time every 10 s, and the queue settles over several
    # of these: the ratio is 1.49 on average of eight seeds at 24 s, and 1.24 at 60 s.
    eight = simulate("droptail", 0.08, {"bbr1": 8}, "60 s").link("bottleneck").figures()
    assert 1 < eight["queue_mean"].mean / many.standing_queue < 1.5


def test_what_bbr_leaves() -> None:
    # X = 10: 1/2 - 1/20 - 4/417. A buffer of less than a product leaves nothing.
    assert OperatingPoint(PACKETS, 0.01, 417).loss_based_share == pytest.approx(0.4404, abs=2e-4)
    assert OperatingPoint(PACKETS, 0.16, 417).loss_based_share == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--target 200ms", "target: got 0.2 s, expected less than the round trip"),
        ("--k 0", "k: got 0.0, expected a finite number above 0"),
        ("--k 100", "k p': got 14.98, expected at most 1"),
        ("--l4s-flows -1", "l4s_flows: got -1.0, expected a finite number above 0"),
        ("--flows 5000", "assumption p < 1 fails"),
    ],
)
def test_outside_its_range_a_design_is_refused(options: str, message: str) -> None:
    command = "design dualpi2 --capacity 50Mbit/s --packet 1500B --flows 50 --rtt 100ms"
    found = CliRunner().invoke(app, f"{command} {options}".split())
    assert message in str(found.exception)


def test_the_commands() -> None:
    def answer(name: str) -> Any:
        link = "--capacity 50Mbit/s --packet 1500B --flows 50 --rtt 100ms --json"
        return json.loads(CliRunner().invoke(app, f"design {name} {link}".split()).stdout)

    single, dual = answer("pi2"), answer("dualpi2")
    assert single["configure"]["alpha"] == {"unit": "/s", "value": pytest.approx(0.15)}
    assert single["boundary"] == dual["boundary"] == pytest.approx(0.349, rel=1e-3)
    assert dual["equilibrium"]["k for equal rates"]["value"] == pytest.approx(1.903, rel=1e-3)
    assert dualpi2.design(PACKETS, 50, 0.1).setting.aqm["name"] == "dualpi2"
    with pytest.raises(ModelError, match="p: got 0, expected a share"):
        prague_window(0)
