"""``marqueue attack``: bounds, scenarios, and the attacks that it must find again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue.attack import GOALS, Setting, attack
from marqueue.attack.search import LEAST, MINIMIZING, least_budget
from marqueue.attack.traffic import (
    MIN_RTO,
    NEUTRAL,
    PARAMETERS,
    free,
    read_aqm,
    read_fixed,
    scenario,
    traffic_at,
)
from marqueue.cli import app
from marqueue.errors import RunError
from marqueue.results.integrity import check_directory
from marqueue.scenario import load
from marqueue.simulation.run import run_each

DROPTAIL = Setting({"name": "droptail"}, buffer="20 packets", share=0.15)
#: Of the victims and the packets as in the paper: full packets, one round trip, together.
AS_IN_THE_PAPER = {"packet": 1000.0, "ecn": 0.0, "rtt": 0.05, "rtt_ratio": 1.0, "starts": 0.04}


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda each: each.name)
def test_shares_lead_through_the_bounds_and_back(parameter) -> None:
    assert parameter.at(0) == pytest.approx(parameter.low)
    assert parameter.at(1) == pytest.approx(parameter.high)
    assert parameter.at(parameter.share(parameter.neutral)) == pytest.approx(parameter.neutral)


def test_no_choice_exceeds_the_mean_rate() -> None:
    for shares in np.random.default_rng(1).random((200, len(PARAMETERS))):
        assert traffic_at(DROPTAIL, shares).within(0.15).mean_rate <= 0.15 * (1 + 1e-9)
    modest = replace(NEUTRAL, period=1.0, length=0.02, burst_rate=2.0)
    assert modest.within(0.15) == modest


def test_bursts_are_groups_of_a_scenario_that_sends_no_more_than_it_says() -> None:
    traffic = replace(NEUTRAL, period=0.5, length=0.05, burst_rate=1.5, packet=500)
    found = scenario(replace(DROPTAIL, duration=6.0), traffic, 1)
    bursts = [each for each in found.traffic if each.kind == "cbr"]
    assert [each.start.seconds for each in bursts[:3]] == [0, 0.5, 1.0]
    assert len(bursts) == 12
    [result] = run_each([found])
    sent = result.run_totals(group="burst 1")["sent"].mean
    # 50 ms of 15 Mbit/s in packets of 500 bytes; the first is sent at once.
    assert sent == pytest.approx(0.05 * 15e6 / 4000, abs=1)


def test_what_is_fixed_is_no_choice() -> None:
    setting = replace(DROPTAIL, fixed=read_fixed(["rtt=0.05", "packet = 1000"]))
    assert len(free(setting)) == len(PARAMETERS) - 2
    assert traffic_at(setting, np.ones(len(free(setting)))).rtt == 0.05


@pytest.mark.parametrize(
    ("fixed", "message"),
    [("rtt=2", "--fix: got \"rtt=2\", expected rtt= a number from 0.01 to 0.1 s"),
     ("rt=2", '--fix: got "rt", expected one of'),
     ("rtt", "--fix: got \"rtt\", expected rtt= a number")],
)  # fmt: skip
def test_a_wrong_choice_is_named(fixed: str, message: str) -> None:
    with pytest.raises(RunError) as error:
        read_fixed([fixed])
    assert message in str(error.value)


def test_parameters_of_an_aqm_are_read() -> None:
    found = read_aqm("red:min_th=5 packets,gentle=false,max_p=0.2")
    assert found == {"name": "red", "min_th": "5 packets", "gentle": False, "max_p": 0.2}
    with pytest.raises(RunError, match=r'--aqm: got "codle".*did you mean "codel"'):
        read_aqm("codle")
    with pytest.raises(RunError, match=r'--aqm: got "target", expected KEY=VALUE'):
        read_aqm("codel:target")


def test_the_low_rate_attack_is_found_again() -> None:
    """Kuzmanovic and Knightly, ACM SIGCOMM 2003: bursts with the period of the least
    retransmission timeout, or a whole part of it, keep drop-tail TCP in timeouts at a small mean
    rate."""
    setting = replace(DROPTAIL, fixed=AS_IN_THE_PAPER)
    found = attack(setting, "utilization", budget=96 + MINIMIZING + 30, seed=2, fresh=5, random=20)
    distance = min(abs(n * found.worst.period / MIN_RTO - 1) for n in (1, 2, 3))
    assert distance < 0.05
    assert found.worst.mean_rate <= 0.16
    # More than a third of the link is idle, though the attacker itself uses some of it.
    assert found.harm.interval is not None
    assert found.harm.interval[0] > 1 / 3
    # Alone, Reno leaves some of it: the buffer holds half of what is on the way.
    assert found.without.mean < 0.05
    assert found.harm.mean > np.quantile(found.random, 0.95)
    # Away from the timeout and its parts the same bursts do less harm, for each of five seeds.
    aside = replace(found.worst, period=0.8 * found.worst.period)
    both = [scenario(setting, each, 5, 5) for each in (found.worst, aside)]
    at, beside = (GOALS["utilization"].of(r, setting) for r in run_each(both))
    assert min(at) > max(beside)


def test_bursts_bring_codel_far_above_its_target(tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = "attack --aqm codel --goal delay --share 0.3 --budget 72 --json --out".split()  # noqa: SIM905
    options = ["--buffer", "400 packets", "--fix", "packet=1000"]
    done = CliRunner().invoke(app, [*line, str(out), *options])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    # The target is 5 ms; its drops come one at a time, an interval of 100 ms after the first.
    assert found["harm"]["mean"] > 0.05
    assert found["harm"]["mean"] > 2 * found["without"]["mean"]
    assert check_directory(out) == []
    page = (out / "report.html").read_text()
    assert "Worst traffic found for codel" in page
    assert f"{found['worst']['period']:.4g}" in page
    worst = load(out / "worst.toml")
    assert worst.topology.bottleneck.aqm.name == "codel"
    [again] = run_each([worst])
    assert np.mean(GOALS["delay"].of(again, Setting({}))) == pytest.approx(found["harm"]["mean"])


def test_the_same_seed_finds_the_same_attack_whatever_the_threads() -> None:
    setting = replace(DROPTAIL, duration=4.0, warmup=1.0)
    a, b = (
        attack(setting, "synchronization", budget=39, fresh=2, random=2, jobs=jobs)
        for jobs in (1, 2)
    )
    assert a.worst == b.worst
    assert a.harm == b.harm
    assert a.history == b.history


@pytest.mark.parametrize("more", [0, 10])
def test_no_more_runs_than_the_budget(more: int) -> None:
    budget = least_budget() + more
    setting = replace(DROPTAIL, duration=2.0, warmup=0.5)
    assert LEAST < attack(setting, "utilization", budget=budget).runs <= budget


@pytest.mark.parametrize(
    ("given", "message"),
    [({"goal": "utilisation"}, '--goal: got "utilisation", expected one of delay'),
     ({"budget": 3}, "--budget: got 3, expected at least 51 runs"),
     ({"share": 1.5}, "--share: got 1.5, expected above 0, at most 1"),
     ({"rate": "10"}, '--rate: got "10", expected a rate such as'),
     ({"buffer": "0"}, 'topology.bottleneck.buffer: got "0", expected a buffer'),
     ({"goal": "synchronization", "aqm": "mkc"}, "its senders have rates, not windows")],
)  # fmt: skip
def test_a_mistake_is_named(given: dict[str, object], message: str) -> None:
    asked = {"aqm": "droptail", "goal": "delay", **given}
    line = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    done = CliRunner().invoke(app, ["attack", *line])
    assert message in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2
