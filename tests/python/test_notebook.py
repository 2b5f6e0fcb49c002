"""Results in notebooks: as HTML, as labelled arrays, as widgets, and the lab's sliders."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from marqueue import Lab, Result, ScenarioError, from_toml
from marqueue.simulation.run import run
from small_scenario import SMALL


@pytest.fixture(scope="module")
def result() -> Result:
    return run(from_toml(SMALL), replications=2)


def test_a_result_shows_its_figures_and_a_picture(result: Result) -> None:
    shown = result._repr_html_()
    assert str(result.link().figures()["utilization"]) in shown
    [svg] = re.findall(r"<svg.*?</svg>", shown, re.DOTALL)
    curves = [e for e in ET.fromstring(svg).iter("path") if (e.get("class") or "").startswith("s")]
    assert curves
    assert "<script" not in shown


def test_names_in_a_result_are_text_in_its_html() -> None:
    hostile = from_toml(SMALL, ["name=<script>alert(1)</script>"])
    shown = run(hostile, replications=1)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_arrays_have_names_units_and_the_values_of_the_series(result: Result) -> None:
    data = result.to_xarray()
    t, queue = result.link("bottleneck").series("queue")
    np.testing.assert_array_equal(data.queue.sel(link="bottleneck"), queue)
    np.testing.assert_array_equal(data.time, t)
    assert data.queue.dims == ("replication", "link", "time")
    assert (data.queue.attrs["units"], data.time.attrs["units"]) == ("packets", "s")
    for replication, flow, goodput in zip(
        *(result.flows[name].to_pylist() for name in ("replication", "flow", "goodput")),
        strict=True,
    ):
        there = float(data.flow_goodput.sel(replication=replication, flow=flow))
        assert there == goodput or (goodput is None and np.isnan(there))
    assert data.flow_goodput.attrs["units"] == "bit/s"


def test_a_widget_has_the_charts_of_the_report_and_a_picture_without_a_kernel(
    result: Result,
) -> None:
    view = result.view()
    titles = [chart["title"] for chart in json.loads(view.data)["charts"]]
    assert "Queue" in titles
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert "<svg" in bundle[0]["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle[0]


def test_a_lab_runs_again_when_a_slider_moves() -> None:
    path = "topology.bottleneck.rate"
    lab = Lab(
        from_toml(SMALL), {path: ("1 Mbit/s", "20 Mbit/s"), "topology.bottleneck.aqm": ["pie"]}
    )
    before, data = lab.result, lab.data
    lab.values = {path: "7 Mbit/s"}
    assert lab.result.plan["links"][0]["rate"] == 7_000_000
    assert before.plan["links"][0]["rate"] != 7_000_000
    assert lab.data != data
    ghosts = [
        c for chart in json.loads(lab.data)["charts"] for c in chart["series"] if c.get("ghost")
    ]
    assert ghosts
    [slider, choice] = lab.controls
    assert (slider["unit"], slider["least"], slider["most"]) == ("Mbit/s", 1, 20)
    assert choice["choices"] == ["pie"]


def test_a_lab_tells_the_figures_of_the_busiest_link() -> None:
    text = """
name = "tandem"
duration = "4 s"
warmup = "1 s"
[topology]
kind = "parking-lot"
hops = [
  { rate = "20 Mbit/s", delay = "2 ms", buffer = "50 packets" },
  { rate = "2 Mbit/s", delay = "2 ms", buffer = "50 packets" },
]
[[traffic]]
kind = "tcp"
classes = ["through"]
count = 2
"""
    rate = "topology.hops.0.rate"
    lab = Lab(from_toml(text), {rate: ("1 Mbit/s", "20 Mbit/s")})
    assert lab.summary.startswith("hop 2: utilization ")
    lab.values = {rate: "1 Mbit/s"}
    assert lab.summary.startswith("hop 1: utilization ")


def test_a_lab_says_what_is_wrong_and_keeps_its_result() -> None:
    lab = Lab(from_toml(SMALL), {})
    before = lab.result
    lab.values = {"topology.bottleneck.rate": "fast"}
    assert "topology.bottleneck.rate" in lab.problem
    assert "expected" in lab.problem
    assert lab.result is before
    lab.values = {}
    assert lab.problem == ""


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"topology.bottleneck.rat": ("1 Mbit/s", "2 Mbit/s")}, ScenarioError, "rate"),
        ({"topology.bottleneck.rate": ("2 Mbit/s", "1 Mbit/s")}, ValueError, "in order"),
        ({"topology.bottleneck.rate": ("1 kbit/s", "1 Mbit/s")}, ValueError, "one unit"),
        ({"topology.bottleneck.aqm": ("red", "pie")}, ValueError, "least and the largest"),
    ],
)
def test_a_lab_refuses_what_is_no_setting(
    settings: dict[str, tuple[str, str]], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Lab(from_toml(SMALL), settings)


MISSING = """
import sys
sys.modules[{module!r}] = None
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *a: None if name == {module!r} else found(name, *a)
del sys.modules[{module!r}]
import marqueue
result = marqueue.run(marqueue.from_toml({small!r}), replications=1)
assert "<svg" in result._repr_html_()
{call}
"""


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("xarray", "result.to_xarray()", "xarray"),
        ("anywidget", "result.view()", "notebook"),
        ("anywidget", "marqueue.Lab", "notebook"),
    ],
)
def test_without_the_extra_it_is_named(module: str, call: str, extra: str) -> None:
    script = MISSING.format(module=module, call=call, small=SMALL)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert f"pip install 'marqueue[{extra}]'" in done.stderr, done.stderr
