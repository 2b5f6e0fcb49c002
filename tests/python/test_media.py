"""Video by SCReAMv2 and GCC: keys, delays and freezes of frames, its share beside others."""

from typing import Any

import numpy as np
import pytest

from conftest import schema_validator
from marqueue import from_dict, run
from marqueue.errors import ScenarioError
from marqueue.results import Result
from marqueue.results.media import freezes
from marqueue.scenario import MediaControl, compile, from_toml
from small_scenario import SMALL

MEDIA = 'traffic=[{{kind="media", max_rate="2 Mbit/s", {}}}]'
PRAGUE = {"kind": "tcp", "name": "prague", "transport": "prague"}


def result(beside: list[dict[str, Any]], aqm: str = "dualpi2", **video: Any) -> Result:
    """A video of at most 20 Mbit/s for 20 s at a bottleneck of 10 Mbit/s, measured after 5 s."""
    link = {"rate": "10 Mbit/s", "delay": "2 ms", "buffer": "200 packets", "aqm": aqm}
    link |= video.pop("link", {})
    return run(
        from_dict(
            {
                "name": "video",
                "duration": "20 s",
                "warmup": "5 s",
                "replications": 2,
                "topology": {
                    "kind": "dumbbell",
                    "rtts": ["20 ms"],
                    "bottleneck": link,
                    "access": {"rate": "1 Gbit/s"},
                },
                "transport": {"prague": {"preset": "linux", "control": "prague", "ecn": True}},
                "traffic": [
                    {"kind": "media", "name": "video", "max_rate": "20 Mbit/s", **video},
                    *beside,
                ],
            }
        )
    )


def test_a_group_of_media_becomes_flows_of_each_class_and_reads_back():
    scenario = from_toml(SMALL, [MEDIA.format("count=3, frame_rate='25 /s', key_frames='2 s'")])
    near, far = compile(scenario)["traffic"]
    media = near["kind"]["media"]
    assert (media["count"], far["kind"]["media"]["count"]) == (2, 1)
    assert (media["packet"], media["ecn"]) == (1200, "ect1")
    encoder = media["encoder"]
    assert (encoder["period"], encoder["key_frames"]) == (40_000_000, 2_000_000_000)
    assert from_toml(scenario.to_toml()) == scenario
    schema_validator().validate(scenario.to_dict())
    assert MediaControl.of("scream", beta_ecn=0.7).table() == {"name": "scream", "beta_ecn": 0.7}


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ('control="screem"', "control", 'did you mean "scream"?'),
        ("control={name='scream', beta_loss=1}", "control.beta_loss", "0.01 to 0.99"),
        ("control='gcc', ecn='ect1'", "ecn", "gcc, which does not answer marks, expected not-ect"),
        ("packet='9 kB'", "packet", "got 9000 bytes, expected 100..=1500 with media"),
        ("min_rate='3 Mbit/s'", "max_rate", "expected at least min_rate"),
        ("ladder=['1 Mbit/s', '500 kbit/s']", "ladder", "expected rates that increase"),
        ("ladder=['3 Mbit/s']", "ladder", "expected rates from min_rate to max_rate"),
        ("frame_rate='2000 /s'", "frame_rate", "expected 1 to 1000 frames a second"),
        ("key_frames='1 ms'", "key_frames", "expected at least the time between frames"),
    ],
)
def test_a_mistake_is_told_with_its_place(given: str, path: str, said: str):
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [MEDIA.format(given)]))
    [problem] = refused.value.problems
    assert problem.path == f"traffic.0.{path}"
    assert said in problem.message


def test_alone_in_the_l4s_queue_it_takes_most_of_the_link_and_leaves_no_queue():
    video = result([], trace=True)
    media, link = video.media(), video.link().figures()
    # The draft's margin is a factor of 1.2 and more for sizes that vary; half is a fault.
    assert 6e6 < media["media_rate"].mean < 8.5e6
    assert link["delay_mean"].mean < 1e-3
    # One way without queues: 10 ms. A mean frame takes 22 ms at the pacing rate, 1.5 times its own.
    assert 0.03 < media["frame_delay_mean"].mean < 0.036
    assert media["freezes"].mean == media["frames_lost"].mean == link["drops"].mean == 0
    frames = video.to_pandas("frames")
    assert np.allclose(np.diff(frames.made[frames.replication == 0]), 1 / 30)
    # The rate that was asked for, less what a Laplace distribution leaves open.
    asked = video.to_pandas("media").query("t > 5").target.mean()
    assert media["media_rate"].mean == pytest.approx(asked, rel=0.03)


def test_beside_prague_both_keep_the_l4s_queue_short_and_both_get_through():
    both = result([PRAGUE])
    media, link = both.media(), both.link().figures()
    assert link["delay_p99"].mean < 3e-3
    assert link["utilization"].mean > 0.9
    # SCReAM answers to the peak of the share of marks, so it has less than half (docs/media.md),
    # but it is not held to its least rate of 150 kbit/s.
    rates = [both.traffic(group=name)["goodput"].mean for name in ("video", "prague")]
    assert 0.45e6 < rates[0] < rates[1]
    assert media["frame_delay_p99"].mean < 0.06
    assert media["freezes"].mean == 0


def test_a_loss_costs_frames_until_the_next_key_frame():
    lossy = result([], link={"loss": "0.5%"})
    media = lossy.media()
    frames = lossy.to_pandas("frames")
    assert 0.01 < media["frames_lost"].mean < 0.5
    assert media["freezes"].mean > 1
    lost = frames.shown.isna()
    # What is shown next after a frame that was not is a key frame.
    first = frames[~lost & lost.shift(fill_value=False) & (frames.made > 1)]
    assert len(first) > 20
    assert first.is_key.all()
    row = lossy.flows.to_pandas().iloc[0]
    here = frames[(frames.replication == 0) & (frames.made >= 5)]
    assert row.frame_delay_mean == pytest.approx((here.shown - here.made).mean())


def test_a_freeze_is_a_gap_of_three_periods_and_of_a_period_and_150_ms():
    shown = np.array([0.0, 0.05, np.nan, 0.24, 0.45, 1.0])
    assert freezes(shown, 1.05, 0.05).tolist() == pytest.approx([0.21, 0.55])
    # With 100 ms between frames three periods are more.
    assert freezes(shown, 1.05, 0.1).tolist() == pytest.approx([0.55])
    assert freezes(shown, 2.0, 0.1).tolist() == pytest.approx([0.55, 1.0])


def test_the_same_seed_gives_the_same_frames():
    short = {"link": {"loss": "1%"}, "key_frames": "1 s"}
    assert (
        result([PRAGUE], **short)
        .tables["frames"]
        .equals(result([PRAGUE], **short).tables["frames"])
    )


def test_gcc_fills_a_link_without_ecn_and_its_queue_stays_short():
    """draft-ietf-rmcat-gcc-02: the rate falls to .85 of what arrives when the delay grows, and
    grows slowly near it. Frames of equal size, hardly faster paced than they are made: larger ones
    and bursts look like congestion."""
    alone = result(
        [],
        "droptail",
        control={"name": "gcc", "pacing": 1.1},
        min_rate="3 Mbit/s",
        deviation=0.0,
        key_size=1.0,
        link={"rate": "5 Mbit/s"},
    )
    [media] = compile(from_dict(dict(alone.scenario)))["traffic"]
    assert media["kind"]["media"]["ecn"] == "not-ect"
    assert 0.8 * 5e6 < alone.media()["media_rate"].mean < 5e6
    # The buffer would hold 384 ms.
    assert alone.media()["frame_delay_mean"].mean < 0.1
    assert alone.media()["frames_lost"].mean == 0
