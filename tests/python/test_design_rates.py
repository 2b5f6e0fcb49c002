"""The designs of MKC and DRQ against what their modules under theory/ say."""

import cmath
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import check, drq, mkc
from marqueue.errors import ModelError
from marqueue.scenario import load
from marqueue.theory.drq.from_scenario import network
from marqueue.theory.drq.stability import stability
from marqueue.theory.mkc.lossfree import steady_loss

CPU = Path(__file__).parents[2] / "scenarios" / "cpu.toml"


@pytest.mark.parametrize("delays", [(1,), (7,), (3, 11)])
def test_emkc_is_stable_up_to_a_gain_of_two_whatever_delays_are(delays: tuple[int, ...]) -> None:
    found = mkc.design(1e7, 20, delays, alpha=1e4)
    assert [rule.bound for rule in found.rules] == [1.0, 2.0]  # Theorem 4
    assert found.boundary is not None
    # Of unequal delays a little more is stable than of all.
    assert found.boundary >= 2 - 1e-9
    if len(delays) == 1:
        assert found.boundary == pytest.approx(2, abs=1e-8)


def test_alpha_follows_from_the_loss_that_is_tolerated() -> None:
    found = mkc.design(1e7, 20, (4,), loss=0.01)
    alpha = found.configure["alpha"].number
    assert steady_loss(1e7, 20, alpha, found.chosen) == pytest.approx(0.01)
    assert found.equilibrium["lost"].number == pytest.approx(0.01)


def test_two_sources_stand_for_all() -> None:
    few = mkc.Mkc(1e7, 2, (3,), 1e5, 1.9, "power").root
    many = mkc.Mkc(1e7, 200, (3,), 1e3, 1.9, "power").root
    assert few == pytest.approx(many)


@pytest.mark.parametrize("price", ["loss", "power", "virtual"])
def test_maps_grow_and_decay_as_roots_say(price: mkc.Price) -> None:
    found = mkc.design(1e7, 10, (4,), alpha=1e4, price=price)
    inside, outside = check(found)
    assert inside.linear < 0 < outside.linear
    assert inside.agrees
    assert outside.agrees


def test_drq_is_as_flat_as_proposition_2_asks() -> None:
    model = network(load(CPU, ["traffic.forward.count=40"]))
    found, exact = drq.design(model), stability(model)
    assert found.chosen == pytest.approx(exact.bound)
    assert found.boundary == pytest.approx(exact.boundary, rel=1e-3)
    for name in model.optimum.congested:
        i = model.sharing.index[name]
        max_th = found.configure[f"{name}: max_th"].number * model.flows[0].packet
        red = model.red[i]
        steepest = max(red.m / (max_th - red.lower), (1 - red.m) / max_th)
        capacity = model.sharing.capacity[i] / model.mean_density[i]
        assert steepest * capacity == pytest.approx(exact.bound)


def test_outside_its_assumptions_a_design_is_refused() -> None:
    with pytest.raises(ModelError, match="alpha, loss: expected one of them"):
        mkc.design(1e7, 20, (4,))
    with pytest.raises(ModelError, match="delay: got"):
        mkc.design(1e7, 20, (0,), alpha=1e4)
    with pytest.raises(ModelError, match="the virtual capacity would stay at 0"):
        mkc.design(1e7, 2000, (4,), alpha=1e4, price="virtual")
    wrong = CliRunner().invoke(
        app, ["design", "mkc", "--capacity", "1Mbit/s", "--flows", "2", "--price", "los"]
    )
    assert 'did you mean "loss"?' in str(wrong.exception)
    other = CliRunner().invoke(app, ["design", "drq", str(CPU.with_name("dumbbell.toml"))])
    assert "has no DRQ" in str(other.exception)


def test_the_commands() -> None:
    line = ["design", "drq", str(CPU), "--set", "traffic.forward.count=40", "--json"]
    assert json.loads(CliRunner().invoke(app, line).stdout)["theorem"] == "Proposition 2"
    mkc = "design mkc --capacity 10Mbit/s --flows 20 --delay 4 --delay 9 --alpha 10kbit/s --json"
    assert json.loads(CliRunner().invoke(app, mkc.split()).stdout)["boundary"] >= 2


def test_margins_of_one_delay_are_those_worked_out_by_hand() -> None:
    for delay in (1, 4):
        found = mkc.design(1e7, 20, (delay,), loss=0.1)
        margins = found.margins
        assert margins is not None
        # L = beta (1 - p) w / (1 - (1 - beta p) w): -1 over the gain margin at w = -1.
        assert margins.gain == pytest.approx((2 - 0.1) / (1 - 0.1))
        # |L| = 1 where |1 - 0.9 w| = 0.9: cos = (1 + 0.9^2 - 0.9^2) / 1.8.
        turn = math.acos(1 / 1.8)
        at = complex(math.cos(turn), -math.sin(turn))
        phase = 180 + math.degrees(cmath.phase(0.9 * at / (1 - 0.9 * at)))
        assert margins.phase == pytest.approx(phase)


@pytest.mark.parametrize("delays", [(2,), (2, 5)])
@pytest.mark.parametrize("price", ["loss", "virtual"])
def test_margins_vanish_at_the_boundary(delays: tuple[int, ...], price: mkc.Price) -> None:
    found = mkc.design(1e7, 20, delays, alpha=1e4, price=price)
    assert found.boundary is not None
    margins = found.at(found.boundary * (1 - 1e-5)).margins
    assert 1 < margins.gain < 1 + 1e-3
    # At z^D = -1 a locus touches the circle: the phase falls with the root of what is left.
    assert 0 < margins.phase < 0.5
    assert 0 < margins.delay < 0.01


def test_a_price_that_is_later_than_the_delay_margin_is_unstable() -> None:
    setting = mkc.Mkc(1e7, 20, (1,), 5e3, 0.1, "loss")
    margins = setting.margins
    assert margins is not None
    p = float(setting.point.prices[0])
    radii = []
    for late in (math.floor(margins.delay), math.ceil(margins.delay)):
        # z^(1+k) - (1 - beta p) z^k + beta (1 - p) = 0, the reference rate on time.
        polynomial = np.zeros(late + 2)
        polynomial[:2] = 1, -(1 - 0.1 * p)
        polynomial[-1] += 0.1 * (1 - p)
        radii.append(np.abs(np.roots(polynomial)).max())
    assert margins.delay > 1
    assert radii[0] < 1 < radii[1]
