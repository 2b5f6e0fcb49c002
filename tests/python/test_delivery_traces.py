"""Links of a scenario that send at the times of a trace in the format of mahimahi."""

from pathlib import Path
from typing import Any

import pytest

from marqueue import from_dict, load, run
from marqueue.errors import ScenarioError
from marqueue.results import Result
from marqueue.scenario import Scenario, compile
from marqueue.scenario.delivery_trace import mean_rate, parse
from marqueue.theory.fluid.from_scenario import describe

TIMES = ["10 ms", "10 ms", "20 ms", "100 ms"]
RATE = "0.48128 Mbit/s"
"""Four times 1504 bytes in 100 ms."""


def scenario(times: list[str] | str = TIMES, rate: str = RATE, **bottleneck: Any) -> Scenario:
    """Packets of 1504 bytes that keep the queue full."""
    return from_dict(
        {
            "name": "trace",
            "duration": "3 s",
            "warmup": "1 s",
            "replications": 1,
            "topology": {
                "kind": "dumbbell",
                "rtts": ["40 ms"],
                "bottleneck": {
                    "rate": rate, "delay": "5 ms", "buffer": "8 packets",
                    "delivery_trace": times, **bottleneck,
                },
            },
            "traffic": [
                {"kind": "cbr", "rate": "2 Mbit/s", "packet": "1504 B", "jitter": "0 s"}
            ],
        }
    )  # fmt: skip


def delivered(result: Result) -> int:
    """Bytes that arrived in the measuring window."""
    return int(sum(f.delivered.sum() for f in result.flow_sets()))


def test_a_packet_leaves_at_each_time_and_at_no_other() -> None:
    # 20 laps in the two seconds that are measured.
    result = run(scenario())
    assert delivered(result) == 20 * 4 * 1504
    assert result.link("bottleneck").figures()["utilization"].mean == pytest.approx(1)


def test_an_interruption_delays_what_it_meets_and_nothing_is_sent_for_it_later() -> None:
    # At 500 ms of each second the link stops for half a second: 500 packets a second remain.
    times = [f"{t} ms" for t in range(1, 501)] + ["1 s"]
    result = run(scenario(times, f"{501 * 1504 * 8} bit/s", buffer="1000 packets"))
    delay = result.link("bottleneck").figures()
    assert delay["loss_ratio"].mean == 0
    assert 0.48 < delay["delay_p99"].mean <= 0.5
    assert delay["delay_p5"].mean < 0.002


def test_a_trace_is_a_file_beside_the_scenario(tmp_path: Path) -> None:
    text = scenario().to_toml()
    (tmp_path / "downlink.trace").write_text("10\n10\n20\n\n100\n", encoding="ascii")
    lists = text[text.index("delivery_trace") :].partition("]")[0] + "]"
    file = tmp_path / "scenario.toml"
    file.write_text(text.replace(lists, 'delivery_trace = "downlink.trace"'), encoding="utf-8")
    assert load(file) == scenario()
    (tmp_path / "downlink.trace").write_text("10\n5\n", encoding="ascii")
    with pytest.raises(ScenarioError, match=r"bottleneck\.delivery_trace: downlink\.trace:2: got"):
        load(file)
    (tmp_path / "downlink.trace").unlink()
    with pytest.raises(ScenarioError, match=r'delivery_trace: "downlink.trace" cannot be read'):
        load(file)


def test_the_rate_of_a_plan_is_the_mean_of_the_trace() -> None:
    assert mean_rate(parse("10\n10\n20\n100")) == 481280
    [link] = [each for each in compile(scenario())["links"] if each["name"] == "bottleneck"]
    assert (link["rate"], link["delivery_opportunities"][-1]) == (481280, 100_000_000)


@pytest.mark.parametrize(
    ("changed", "path", "message"),
    [
        ({"rate": "1 Mbit/s"}, "rate", "expected the mean rate of the trace, 0.4813 Mbit/s"),
        ({"times": ["3 ms", "2 ms"]}, "delivery_trace.1", "times that do not decrease"),
        ({"times": ["0 ms"]}, "delivery_trace", "at least one time above 0 ms"),
        ({"times": "downlink.trace"}, "delivery_trace", "got"),
        ({"trace": True}, "trace", "beside delivery_trace"),
        ({"schedule": [{"at": "1 s", "rate": "1 Mbit/s"}]}, "schedule", "beside delivery_trace"),
        ({"aqm": "linux:fq_codel"}, "aqm", "expected an AQM of the simulator"),
    ],
)
def test_what_goes_with_no_trace_is_refused(
    changed: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(**changed)
    [problem] = [p for p in caught.value.problems if p.path == f"topology.bottleneck.{path}"]
    assert message in problem.message


def test_the_fluid_model_refuses_it() -> None:
    tcp = scenario().to_dict() | {"traffic": [{"kind": "tcp", "count": 2}]}
    with pytest.raises(ScenarioError, match=r"bottleneck\.delivery_trace"):
        describe(from_dict(tcp))
