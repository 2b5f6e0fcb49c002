"""What the machine does to a live link: timers before a run, interference during one."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_requirements import needs_links
from marqueue.live import machine
from marqueue.live.audit import MAX_RELEASE_ERROR, invalid_reasons
from marqueue.live.machine import AWAKE, LEAST_POLL, POLLS, Timers

ENDS = {end: {"no_memory": 0, "ce_sent": 0} for end in ("near", "far")}


def timers(p99: float) -> Timers:
    return Timers(p50=p99 / 2, p90=p99, p99=p99, max=p99, realtime=True, waited=None)


@given(st.floats(1e-6, 1e-1))
def test_at_the_highest_rate_packets_are_just_in_time(p99: float):
    """A packet may be late by half its time, after what is polled, for which there must be time."""
    each = timers(p99)
    packet = each.shortest_packet
    assert POLLS[0] <= each.longest_poll <= POLLS[1]
    polled = min(each.longest_poll, max(packet / 2, LEAST_POLL))
    assert p99 - polled <= MAX_RELEASE_ERROR * packet * (1 + 1e-9)
    assert polled <= AWAKE * packet * (1 + 1e-9)
    # Not less than it could be, but where packets come so fast that it always polls.
    if packet >= 2 * LEAST_POLL:
        assert p99 - polled == pytest.approx(MAX_RELEASE_ERROR * packet)
    assert each.highest_rate == pytest.approx(12_000 / packet)
    assert each.doubt(packet * 1.001) is None
    assert "Mbit/s" in (each.doubt(packet * 0.999) or "")


def test_a_network_without_a_rate_is_not_doubted():
    assert timers(1.0).doubt(None) is None


def test_what_is_measured_is_in_order():
    measured = Timers.measure(0.05)
    assert measured.p50 <= measured.p90 <= measured.p99 <= measured.max < math.inf
    assert measured.in_words().startswith("timers here are ")


@pytest.mark.parametrize(
    ("groups", "file", "told", "seconds"),
    [
        ("0::/a.slice", "fs/a.slice/cpu.stat", "usage_usec 7\nthrottled_usec 2500000\n", 2.5),
        (
            "3:cpu,cpuacct:/b\n2:pids:/\n",
            "fs/cpu/b/cpu.stat",
            "nr_throttled 1\nthrottled_time 30\n",
            30e-9,
        ),
        ("0::/", "fs/cpu.stat", "usage_usec 7\n", None),
        ("2:pids:/", "fs/cpu.stat", "throttled_usec 5\n", None),
    ],
)
def test_the_quota_of_the_control_group_is_read(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    groups: str,
    file: str,
    told: str,
    seconds: float | None,
):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(told)
    (tmp_path / "cgroup").write_text(groups)
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "CPU_STATS", (f"{tmp_path}/fs", f"{tmp_path}/fs/cpu"))
    assert machine.throttled_seconds() == seconds


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ({}, "the machine did not keep up."),
        (
            {"waited": 0.0123, "stolen": 0.0, "throttled": None},
            "keep up (its thread was ready and had no processor for 12.3 ms).",
        ),
        (
            {"waited": 0.0, "stolen": 0.04, "throttled": 0.1},
            "for 0.0 ms; the hypervisor took, of all processors, 40.0 ms; a CPU quota stopped this "
            "process for 100.0 ms).",
        ),
    ],
)
def test_an_invalid_result_says_who_had_the_processor(who: dict[str, float], said: str):
    error = {"p99": 1e-3, "packets": 5}
    [reason] = invalid_reasons({"release_error": error, **ENDS, **who}, 1e-3)
    assert reason.endswith(said)


@needs_links
def test_a_link_tells_of_its_machine(tmp_path: Path, marqueue):
    file = tmp_path / "link.json"
    done = marqueue("link", "--rate", "100Gbit/s", "--json", str(file), "--", "true")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: timers here are ")
    live = json.loads(file.read_text())
    assert live["audit"]["waited"] >= 0
    assert live["audit"]["stolen"] >= 0
