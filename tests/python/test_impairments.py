"""Impaired links at the user's boundary: what is accepted, what is refused, what is reported."""

import jsonschema
import pytest

from conftest import EXAMPLES, schema_validator
from marqueue import run
from marqueue.errors import ScenarioError
from marqueue.reports import report, save_with_report
from marqueue.results import Result
from marqueue.scenario import Loss, compile, from_toml, load
from small_scenario import SMALL

NECK = "topology.bottleneck"


def pipes(*overrides: str) -> dict[str, dict[str, object]]:
    """The impairments of each link in the plan of the small scenario."""
    plan = compile(from_toml(SMALL, overrides))
    return {link["name"]: link["pipe"] for link in plan["links"] if "pipe" in link}


RANDOM = {"loss": {"name": "random", "params": {"probability": 0.01}}}


@pytest.mark.parametrize("loss", ["1%", "{model='random', probability=0.01}", "1.0 %"])
def test_a_loss_is_a_share_or_a_table(loss: str):
    assert pipes(f"{NECK}.loss={loss}") == {"bottleneck": RANDOM}


def test_jitter_and_reordering_are_tables_and_jitter_may_be_its_mean():
    assert pipes(f"{NECK}.jitter=2 ms") == {"bottleneck": {"jitter": {"mean": 0.002}}}
    jitter = "{mean='2 ms', distribution='exponential', order='free'}"
    reorder = "{probability=0.05, delay='10 ms'}"
    assert pipes(f"{NECK}.jitter={jitter}", f"{NECK}.reorder={reorder}") == {
        "bottleneck": {
            "jitter": {"mean": 0.002, "distribution": "exponential", "order": "free"},
            "reorder": {"probability": 0.05, "delay": 0.01},
        }
    }


def test_no_impairment_leaves_no_trace_in_the_plan():
    assert pipes() == {}


def test_every_kind_of_link_may_be_impaired():
    access = [*access_of("40 ms"), *access_of("80 ms")]
    assert pipes("topology.access.loss=1%") == dict.fromkeys(access, RANDOM)
    back = 'topology.reverse={rate="1 Mbit/s",delay="7 ms",buffer="30 kB",loss="1%"}'
    assert pipes(back) == {"reverse": RANDOM}
    neck = '{rate="1 Mbit/s", delay="1 ms", buffer="9 packets", loss="1%"}'
    classes = '[{name="a", rtt="9 ms", loss="1%"}, {name="b", rtt="9 ms"}]'
    star = f'topology={{kind="star", bottleneck={neck}, classes={classes}}}'
    assert list(pipes(star)) == ["bottleneck", "a/source"]
    lot = f'topology={{kind="parking-lot", access={{loss="1%"}}, hops=[{neck}]}}'
    assert list(pipes(lot)) == ["hop 1", *access_of("through"), *access_of("hop 1")]
    wire = '{name="ab", from="a", to="b", rate="1 Mbit/s", delay="1 ms", loss="1%"}'
    classes = '[{name="c", from="a", to="b"}]'
    graph = f'topology={{kind="graph", links=[{wire}], classes={classes}}}'
    assert pipes(graph) == {"ab": RANDOM}


def access_of(class_: str) -> list[str]:
    return [f"{class_}/source", f"{class_}/sink"]


@pytest.mark.parametrize(
    ("override", "path", "said"),
    [
        ("loss=101%", "loss", 'got "101%", expected a share of packets such as "1%"'),
        ("loss=0.01", "loss", 'got 0.01, expected a share of packets such as "1%"'),
        ("loss.probability=0.1", "loss.model", "missing, expected one of random, gilbert"),
        ("loss.model=gilber", "loss.model", 'did you mean "gilbert"?'),
        ("loss={model='random'}", "loss.probability", "missing, expected a number, 0 to 1"),
        ("loss={model='random', probability=2}", "loss.probability", "got 2, expected a number"),
        (
            "loss={model='random', probability=0.1, p=1}",
            "loss.p",
            "unknown key, expected one of probability",
        ),
        (
            "loss={model='gilbert', to_bad=0, to_good=0}",
            "loss.to_good",
            "got 0 with to_bad 0, expected at least one above 0",
        ),
        ("jitter=2", "jitter", 'got 2, expected a time such as "2 ms" or a table with mean'),
        ("jitter=2 bytes", "jitter.mean", 'got "2 bytes", expected a time such as "40 ms"'),
        ("jitter={mean='1 ms', order='lost'}", "jitter.order", "expected one of kept, free"),
        ("reorder=5%", "reorder", 'got "5%", expected a table with probability and delay'),
        ("reorder={probability=0.1}", "reorder.delay", "missing, expected a time"),
        (
            "loss={model='periodic', every='1.5 packets'}",
            "loss.every",
            "got 1.5, expected a whole number of packets",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(override: str, path: str, said: str):
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [f"{NECK}.{override}"]))
    [problem] = refused.value.problems
    assert problem.path == f"{NECK}.{path}"
    assert said in problem.message


def test_a_scenario_with_impairments_reads_back_as_it_was_and_fits_the_schema():
    scenario = from_toml(
        SMALL,
        [
            f"{NECK}.loss={{model='gilbert', to_bad=0.01, to_good=0.5}}",
            f"{NECK}.jitter={{mean='1 ms', order='free'}}",
            "topology.access.loss=0.5%",
            "topology.access.jitter=1 ms",
            "topology.access.reorder={probability=0.1, delay='1 ms'}",
        ],
    )
    assert from_toml(scenario.to_toml()) == scenario
    schema_validator().validate(scenario.to_dict())
    for wrong in ({"model": "random", "p": 1}, "1", "ten %"):
        data = scenario.to_dict()
        data["topology"]["bottleneck"]["loss"] = wrong
        with pytest.raises(jsonschema.ValidationError):
            schema_validator().validate(data)
    assert Loss.of("random", probability=0.5).table() == {"model": "random", "probability": 0.5}


def test_what_was_lost_on_the_wire_is_reported_apart_from_the_queue(tmp_path):
    result = run(from_toml(SMALL, [f"{NECK}.loss=2%", "topology.access.loss=0%"]))
    neck = result.pipe("bottleneck").figures()
    ratio = neck["wire_loss_ratio"]
    assert abs(ratio.mean - 0.02) < 0.005
    assert neck["lost"].mean / neck["packets"].mean == pytest.approx(ratio.mean)
    assert result.pipe("40 ms/sink").figures()["lost"].mean == 0
    assert result.link().figures()["drops"].mean < neck["lost"].mean
    parts = [result.pipe("bottleneck").windows(w) for w in range(2)]
    assert all(w.packets > 100 for part in parts for w in part)
    summary = result.summary()["measured"]["pipes"]["bottleneck"]
    assert summary["wire_loss_ratio"]["mean"] == ratio.mean
    loaded = Result.load(save_with_report(result, tmp_path / "result"))
    assert loaded == result
    page = (tmp_path / "result" / "report.html").read_text(encoding="utf-8")
    assert "Loss ratio on the wire" in page
    assert "loss: model random, probability 0.02" in page
    with pytest.raises(KeyError, match="expected one of: bottleneck, 40 ms/source"):
        result.pipe("nowhere")


def test_reordering_and_extra_delay_are_reported():
    impairments = [f"{NECK}.jitter=2 ms", f"{NECK}.reorder={{probability=0.05, delay='10 ms'}}"]
    result = run(from_toml(SMALL, impairments))
    figures = result.pipe().figures()
    assert abs(figures["reordered_ratio"].mean - 0.05) < 0.01
    # 1000 bytes take 0.8 ms on a link that is busy most of the time: twelve packets in 10 ms.
    assert 6 < figures["reordering_extent"].mean < 12.5
    assert 0.0025 < figures["extra_delay"].mean < 0.006
    page = report(result).render()
    assert "jitter: mean 2 ms; reorder: probability 0.05, delay 10 ms" in page
    assert "Reordering extent, mean [packets]" in page


def test_goodput_under_random_loss_follows_the_square_root_law():
    [path] = [p for p in EXAMPLES if p.stem == "random-loss"]
    result = run(load(path))
    scenario = result.scenario
    assert scenario["topology"]["bottleneck"]["loss"] == {"model": "random", "probability": 0.01}
    # Mathis et al. 1997: 1.22 MSS/(RTT sqrt(p)) with an acknowledgement a segment; less for what is
    # lost again and for timeouts. 1460-byte segments, 100 ms: 1.43 Mbit/s.
    law = 1.2247 * 1460 * 8 / 0.1 / 0.01**0.5
    goodput = result.traffic()["goodput"]
    assert 0.75 * law < goodput.mean < 1.1 * law
    assert result.link().figures()["drops"].mean == 0


def test_the_command_shows_what_links_may_do(marqueue):
    shown = marqueue("impairments", "show")
    assert shown.returncode == 0
    for said in ("random", "gilbert", "periodic", "to_bad", "jitter", "reorder", "kept, free"):
        assert said in shown.stdout
    assert "beta" in marqueue("paced", "show").stdout
