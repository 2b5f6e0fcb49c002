"""Fluid models: equilibria and linearizations compared with closed forms; errors."""

import math
from typing import Any

import numpy as np
import pytest

from marqueue.errors import ModelError
from marqueue.theory.allocation.resources import Resource
from marqueue.theory.drq.fluid import Drq, Red, Reno
from marqueue.theory.fluid.batch import batch
from marqueue.theory.fluid.model import Model, Observables

CURVE = {"min_th": 20.0, "max_th": 60.0, "max_p": 0.1, "gentle": True, "w_q": 1e-3}
AQMS: dict[str, dict[str, Any]] = {
    "droptail": {},
    "red": {"curve": CURVE, "gaps": "wait"},
    "drq": {"curve": CURVE},
    "pi": {"a": 1.822e-5, "b": 1.816e-5, "w": 170.0, "q_ref": 50.0},
    "rem": {"gamma": 1e-3, "phi": 1.001, "alpha": 0.1, "period": 2e-3, "q_ref": 50.0},
    "avq": {"gamma": 0.98, "alpha": 0.15, "initial": 1.0},
    "gkvq": {"theta": 0.9},
    "mkc": {"delta": 0.05, "share": 1.0},
    "scaled": {"curve": "exp:10:0.2", "flows": 1000.0, "a": 0.2},
}
LAWS: dict[str, dict[str, Any]] = {
    "reno": {"decrease": 0.5, "max_window": 1e9},
    "constant-rtt": {"beta": 2 / 3},
    "drq": {"per_ack": 2.0},
    "kelly": {"kappa": 0.5, "omega": 10.0, "interval": 0.05, "least": 1.0},
    "mkc": {"alpha": 10.0, "beta": 0.5, "interval": 0.05, "least": 1.0},
}


def description(
    aqm: str, law: str = "reno", count: float = 60.0, rtts: tuple[float, ...] = (0.04, 0.1)
) -> dict[str, Any]:
    """One link of 1250 packets/s."""
    link = {"name": "link", "capacity": 1250.0, "buffer": 100.0, "signal": "ecn"}
    return {
        "links": [link | {"aqm": {"name": aqm, **AQMS[aqm]}}],
        "classes": [
            {
                "name": f"{rtt:g} s",
                "count": count / len(rtts),
                "law": {"name": law, **LAWS[law]},
                "rtt": rtt,
                "route": [{"link": 0}],
                "initial": 1.0,
            }
            for rtt in rtts
        ],
    }


def parking_lot() -> dict[str, Any]:
    """Two links; one class crosses both, each has one of its own."""
    made = description("red", rtts=(0.1, 0.06, 0.08))
    made["links"].append(made["links"][0] | {"name": "second", "signal": "drop"})
    routes: list[list[dict[str, Any]]] = [
        [{"link": 0}, {"link": 1, "before": 0.01, "size": 0.5, "density": 2.0}],
        [{"link": 0}],
        [{"link": 1}],
    ]
    for of, route in zip(made["classes"], routes, strict=True):
        of["route"] = route
    return made


def test_avq_is_linear_as_the_paper_has_it() -> None:
    # Kunniyur and Srikant 2004, section IV: x* = gamma C / N, p* = N^2 / (beta (d gamma C)^2),
    # K11 = N / (gamma C d^2), K12 = beta gamma C / N, one class, constant delay, of lambda = N x.
    n, d, c, gamma, alpha, beta = 150.0, 0.15, 1250.0, 0.98, 0.15, 2 / 3
    model = Model(description("avq", "constant-rtt", n, (d,)))
    x = gamma * c / n
    p = n**2 / (beta * (d * gamma * c) ** 2)
    rest = np.array([x, 0.0, (1 - p) * gamma * c])
    assert np.abs(model.residual(rest)).max() < 1e-9
    assert model.observe(rest).congestion_signal[0, 0] == pytest.approx(p, rel=1e-12)
    linear = model.jacobian(rest).reduced()
    assert linear.lags == pytest.approx([d])
    k11, k12 = n / (gamma * c * d**2), beta * gamma * c / n
    # The queue is empty and has left the linear model: x, C~.
    assert linear.now == pytest.approx(np.array([[-k11, 0.0], [-alpha * n, 0.0]]), abs=1e-12)
    # By x(t - d): -beta x* (p + N x* dp/dlambda), where x p + N x^2 C~ / lambda^2 = x: - beta x*.
    # By C~(t - d): + beta x*^2 / lambda.
    expected = np.array([[-beta * x, beta * x**2 / (gamma * c)], [0.0, 0.0]])
    assert linear.then[0] == pytest.approx(expected, abs=1e-12)
    assert k12 == pytest.approx(beta * x * n * x / (n * x))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("aqm", AQMS)
def test_jacobians_are_those_of_differences(aqm: str, law: str) -> None:
    _against_differences(Model(description(aqm, law)))


def test_jacobians_of_several_links() -> None:
    _against_differences(Model(parking_lot()))


def _against_differences(model: Model) -> None:
    rng = np.random.default_rng(7)
    y = np.array([*rng.uniform(5, 9, len(model.description["classes"]))])
    y = np.concatenate([y, np.zeros(len(model.states) - len(y))])
    for i, state in enumerate(model.states):
        if i >= len(model.description["classes"]):
            low, high = max(state.lower, 0.0), min(state.upper, 100.0)
            y[i] = rng.uniform(low + 0.3 * (high - low), high - 0.3 * (high - low))
    found = model.jacobian(y)
    assert found.free.all()
    assert found.lags == pytest.approx(model.lags(y))
    then = np.tile(y, (len(found.lags), 1))
    for place in range(-1, len(found.lags)):
        exact = found.now if place < 0 else found.then[place]
        for j in range(len(y)):
            step = 1e-4 * max(abs(y[j]), 1.0)
            sides = []
            for sign in (1, -1):
                here, there = y.copy(), then.copy()
                (here if place < 0 else there[place])[j] += sign * step
                sides.append(model.rhs(here, there))
            difference = (sides[0] - sides[1]) / (2 * step)
            assert exact[:, j] == pytest.approx(difference, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("aqm", ["red", "pi", "rem", "droptail"])
def test_equilibria_agree_with_closed_forms(aqm: str) -> None:
    # Thirty flows would oscillate under droptail.
    made = description(aqm, count=90 if aqm == "droptail" else 30)
    if aqm == "red":
        made["links"][0]["aqm"]["gaps"] = "geometric"
        made["links"][0]["aqm"]["curve"] = CURVE | {"w_q": 1e-2}
    if aqm in ("pi", "rem"):
        # With a hundred times the gains they settle soon.
        faster = {"pi": {"a": 1e-4, "b": 0.99e-4}, "rem": {"gamma": 4e-3}}[aqm]
        made["links"][0]["aqm"] |= faster
    model = Model(made)
    end = model.integrate(np.linspace(0, 100, 3), tolerance=1e-8)
    y = end.states[-1]
    rest = np.abs(model.residual(y)) / np.maximum(np.abs(y), 1)
    assert rest.max() < 1e-3
    # Each window is sqrt(2 / p), and rates fill the link.
    seen = end.seen
    assert seen.window[-1] == pytest.approx(
        math.sqrt(2) / np.sqrt(seen.congestion_signal[-1]), rel=1e-3
    )
    admitted = seen.arrivals[-1] * (1 - seen.loss[-1])
    assert admitted == pytest.approx(1250.0, rel=1e-3)
    if aqm in ("pi", "rem"):
        assert seen.queue[-1] == pytest.approx(50.0, rel=1e-2)
    if aqm == "droptail":
        assert seen.queue[-1] == 100.0


def test_an_invalid_description_is_refused_with_its_place() -> None:
    for path, value, message in (
        (("links", 0, "capacity"), -1.0, "links.0.capacity: got -1, expected a number above 0"),
        (("links", 0, "aqm", "gamma"), 2.0, "links.0.aqm.gamma: got 2, expected above 0, at most"),
        (("classes", 1, "rtt"), 0.0, "classes.1.rtt: got 0, expected a number above 0"),
        (("classes", 0, "law", "decrease"), 0.0, "classes.0.law.decrease: got 0"),
        (("classes", 0, "route", 0, "link"), 3, "classes.0.route.0.link: got 3, expected below 1"),
        (("classes", 0, "law", "name"), "vegas", "unknown variant `vegas`"),
        (("links", 0, "aqm", "beta"), 1.0, "unknown field `beta`"),
    ):
        made = description("avq")
        at: Any = made
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        with pytest.raises(ModelError, match=r"^[^\n]*$") as raised:
            Model(made)
        assert message in str(raised.value)
    model = Model(description("avq"))
    with pytest.raises(ModelError, match="not falling"):
        model.integrate(np.array([1.0, 0.5]))
    with pytest.raises(ModelError, match="tolerance: got 2"):
        model.integrate(np.array([1.0]), tolerance=2.0)


def test_a_batch_is_each_of_its_models_and_keeps_their_errors() -> None:
    times = np.linspace(0, 5, 11)
    every = [description("red", count=n) for n in (10.0, 20.0, 40.0)]
    every.insert(1, description("red"))
    every[1]["links"][0]["capacity"] = -1.0
    found = batch(every, times)
    assert str(found[1]) == "links.0.capacity: got -1, expected a number above 0"
    for i in (0, 2, 3):
        seen = found[i]
        assert isinstance(seen, Observables)
        alone = Model(every[i]).integrate(times).seen
        assert np.array_equal(seen.queue, alone.queue)
        assert np.array_equal(seen.window, alone.window)
    with pytest.raises(ModelError, match="missing field"):
        batch([{"links": []}], times)


def test_drq_over_a_cpu_is_that_of_the_paper_s_model() -> None:
    # (7) to (15) as marqueue.theory.drq.fluid has them, in bits and cycles; here in packets, of a
    # CPU in what a packet of the mean density takes.
    packet, rtt, densities, count = 4000.0, 0.04, (0.25, 0.5, 1.0, 2.0), 10
    mean = sum(densities) / len(densities)
    red = Red.of_packets(50, 550, 0.1, 1e-4, packet, 40e6)
    paper = Drq(
        (Resource("cpu", "cpu", 25e6), Resource("link", "link", 40e6)),
        tuple(Reno(f"{w:g}", {"cpu": w, "link": 1}, packet, rtt, count) for w in densities),
        (red, red),
    )

    def queue(name: str, capacity: float) -> dict[str, Any]:
        curve = {"min_th": 50.0, "max_th": 550.0, "max_p": 0.1, "gentle": True}
        curve["w_q"] = -math.expm1(-red.eta / capacity)
        link = {"name": name, "capacity": capacity, "signal": "ecn", "buffer": None}
        return link | {"aqm": {"name": "drq", "curve": curve}}

    model = Model(
        {
            "links": [queue("cpu", 25e6 / packet / mean), queue("link", 40e6 / packet)],
            "classes": [
                {
                    "name": f"{w:g}",
                    "count": count,
                    "law": {"name": "drq", "per_ack": 2.0},
                    "rtt": rtt,
                    "initial": 1.0,
                    "route": [
                        {"link": 0, "before": rtt / 2, "size": w / mean, "density": w},
                        {"link": 1, "before": rtt / 2},
                    ],
                }
                for w in densities
            ],
        }
    )
    # x, q, averages there; x, then queue and average of each resource here.
    unit = np.array([packet] * 4 + [packet * mean, packet, packet, packet])
    order = [0, 1, 2, 3, 4, 6, 5, 7]
    rng = np.random.default_rng(3)
    for state in (paper.equilibrium, paper.equilibrium * rng.uniform(0.7, 1.3, 8)):
        field = paper.field(0.0, state, np.tile(state, (len(paper.delays), 1))) / unit
        found = model.residual((state / unit)[order])
        assert found == pytest.approx(field[order], rel=1e-9, abs=1e-6)
