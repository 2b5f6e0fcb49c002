"""Max-min Kelly control by packets: scenarios, what is told, rates beside water-filling."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import COMMAND, EXAMPLES, SMALL
from marqueue import _core, run
from marqueue.errors import ScenarioError
from marqueue.scenario import cautions, compile, from_toml, load
from marqueue.theory.maxmin import max_min

ALPHA, BETA = 20_000.0, 0.9
PACKET = 500
"""Bytes."""

EMKC = 'traffic=[{{kind="paced", rate="1 Mbit/s", control={{name="emkc"{}}}}}]'


def example(name: str, *overrides: str):
    [path] = [path for path in EXAMPLES if path.stem == name]
    return load(path, list(overrides))


def settled(routes: list[list[int]], capacity: list[float], seconds: float) -> np.ndarray:
    """Mean rates of EMKC flows over the last tenth of a run, one a route, bit/s."""
    links = [
        {
            "name": f"link {j}",
            "rate": int(c),
            "delay": 2_000_000 * (1 + j),
            "queue": {
                "policy": {"name": "mkc", "params": {"delta": 0.1}},
                "limit": {"packets": 100},
                "signal": "drop",
                "mean_packet": PACKET,
            },
        }
        for j, c in enumerate(capacity)
    ]
    back = {"name": "back", "rate": 10**9, "delay": 10**7, "queue": None}
    law = {"name": "emkc", "params": {"alpha": ALPHA, "beta": BETA}}
    paced = {
        "control": law,
        "count": 1,
        "rate": 10**6,
        "packet": PACKET,
        "ecn": False,
        "start": 0,
        "jitter": 10**8,
        "stop": None,
        "trace": True,
    }
    plan = {
        "duration": int(seconds * 1e9),
        "boundaries": [],
        "sample": 0,
        "links": [*links, back],
        "routes": [{"forward": route, "reverse": [len(links)]} for route in routes],
        "transports": [],
        "traffic": [
            {"name": str(i), "kind": {"paced": paced | {"route": i}}} for i in range(len(routes))
        ],
    }
    result = _core.run(json.dumps(plan), 1, _core.Control())
    return np.array([mean_rate(sender, 0.9 * seconds, seconds) for sender in result["paced"]])


def mean_rate(sender: dict[str, np.ndarray], begin: float, end: float) -> float:
    t = np.clip(np.append(sender["t"], end), begin, end)
    return float(np.diff(t) @ sender["rate"] / (end - begin))


def fair(routes: list[list[int]], capacity: list[float]) -> np.ndarray:
    """Water-filling."""
    hops = [(j, i) for i, route in enumerate(routes) for j in route]
    usage = csr_array((np.ones(len(hops)), tuple(np.transpose(hops))))
    return max_min(usage, np.array(capacity)).rates


# alpha / beta is 22 kbit/s, by which EMKC settles above its share (46): rates of 2 Mbit/s and more
# leave half of the 2 % to chance. What is left of the start falls by e in C/(N alpha) steps of less
# than 0.25 s: 25 s on the parking lot, at most 75 s on random routes.
@pytest.mark.parametrize("capacity", [[4e6, 4e6, 4e6], [6e6, 4e6, 8e6]], ids=["alike", "unlike"])
def test_rates_on_a_parking_lot_are_those_of_water_filling(capacity: list[float]):
    routes = [[0, 1, 2], [0], [1], [2]]
    rates, expected = settled(routes, capacity, 150), fair(routes, capacity)
    assert rates == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("seed", [1, 2])
def test_rates_on_random_routes_are_those_of_water_filling(seed: int):
    draw = np.random.default_rng(seed)
    capacity = list(draw.integers(6, 13, 5) * 1e6)
    routes = [list(map(int, draw.permutation(5)[: draw.integers(1, 4)])) for _ in range(9)]
    routes = [route for route in routes if route]
    used = sorted({j for route in routes for j in route})
    assert used == list(range(5))
    rates, expected = settled(routes, capacity, 250), fair(routes, capacity)
    assert rates == pytest.approx(expected, rel=0.02)


def test_the_example_comes_to_the_fixed_point_and_draws_rates():
    result = run(example("mkc"))
    # C/N + alpha/beta is sent, C/N arrives.
    goodput = [result.traffic(group=group)["goodput"].mean for group in result.groups]
    assert goodput == pytest.approx([2.5e6] * 4, rel=0.02)
    loss = 4 * 1e5 / (1e7 * 0.9 + 4 * 1e5)
    assert result.link().figures()["loss_ratio"].mean == pytest.approx(loss, rel=0.02)
    table = result.to_pandas("paced")
    assert (table.groupby("flow")["rate"].max() < 1e7 + 1e5 / 0.9 + 16_000).all()
    [axes] = result.plot.rates().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == result.groups


def test_tcp_yields_to_mkc_in_one_queue_and_has_its_half_in_its_own():
    shares = {}
    for name in ("mkc-tcp", "mkc-tcp-two-queues"):
        result = run(example(name, "replications=1"))
        rate = {group: result.traffic(group=group)["goodput"].mean for group in ("mkc", "tcp")}
        shares[name] = rate["tcp"] / (rate["mkc"] + rate["tcp"])
    assert shares["mkc-tcp"] < 0.1
    assert shares["mkc-tcp-two-queues"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("beta", [0, 2, 2.5])
def test_a_beta_that_is_not_stable_is_accepted_with_a_warning(beta: float):
    scenario = from_toml(SMALL, [EMKC.format(f", beta={beta}"), "topology.bottleneck.aqm='mkc'"])
    [said] = cautions(scenario)
    assert "Theorem 4" in said
    assert f"beta = {beta:g}" in said


def test_the_command_tells_the_warning(tmp_path: Path):
    path = tmp_path / "unstable.toml"
    overrides = [EMKC.format(", beta=2.5"), "topology.bottleneck.aqm='mkc'", "duration='300 ms'"]
    scenario = from_toml(SMALL, [*overrides, "warmup='0 s'", "replications=1"])
    path.write_text(scenario.to_toml())
    command = [*COMMAND, "run", str(path), "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Warning: emkc with beta = 2.5" in done.stderr
    assert any("Theorem 4" in said for said in json.loads(done.stdout)["warnings"])


def test_a_law_that_listens_where_nobody_speaks_is_told_so():
    said = cautions(from_toml(SMALL, [EMKC.format("")]))
    assert len(said) == 2
    assert all("no queue on its way tells a price" in each for each in said)
    assert "mkc_lossfree" in said[0]
    assert not cautions(from_toml(SMALL, [EMKC.format(""), "topology.bottleneck.aqm='mkc'"]))


@pytest.mark.parametrize(
    ("given", "path", "expected"),
    [
        ("alpha='100 ms'", "control.alpha", "expected a rate"),
        ("beta=-1", "control.beta", "expected a number, 0 to 100"),
        ("kappa=1", "control.kappa", "unknown"),
    ],
)
def test_a_mistake_is_told_with_its_place(given: str, path: str, expected: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, [EMKC.format(f", {given}")])
    [problem] = refused.value.problems
    assert problem.path == f"traffic.0.{path}"
    assert expected in problem.message


def test_a_packet_too_small_for_the_header_is_refused():
    small = EMKC.format("").replace('rate="1 Mbit/s"', 'rate="1 Mbit/s", packet="47 B"')
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [small]))
    assert "at least 48 bytes" in str(refused.value)
