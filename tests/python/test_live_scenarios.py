"""Scenarios with real TCP compared with the simulator, and unsupported scenarios.

Tests that need namespaces and TUN devices are skipped where the machine lacks them. What depends on
the machine's speed is marked ``real_time`` and not part of CI (make test-timing).
"""

import json
from functools import cache

import pytest

from conftest import EXAMPLES
from live_requirements import needs_bbr, needs_dctcp, needs_ipv6, needs_links, skip_if_late
from marqueue.errors import ScenarioError
from marqueue.live import kernel
from marqueue.live.audit import invalid_reasons
from marqueue.live.run import run_live
from marqueue.live.sockets import Samples, parse
from marqueue.live.unsupported import refuse
from marqueue.reports.comparison_report import comparison_report
from marqueue.results import Result
from marqueue.results.comparison import compare
from marqueue.scenario import Scenario, compile, load
from marqueue.simulation.run import run

[AVQ] = [path for path in EXAMPLES if path.name == "dumbbell-avq.toml"]
SHORT = ("duration=3 s", "warmup=1 s", "replications=1", "traffic.bulk.jitter=200 ms")
AQMS = ("droptail", "red", "avq", "pi", "chokew", "codel")


def short(*overrides: str) -> Scenario:
    return load(AVQ, [*SHORT, *overrides])


def under(aqm: str) -> Scenario:
    given = [] if aqm == "avq" else [f"topology.bottleneck.aqm={aqm}"]
    return short(*given, *(["topology.bottleneck.signal=drop"] if aqm == "chokew" else []))


@cache
def both(aqm: str) -> tuple[Result, Result]:
    """What is simulated and what is measured."""
    return run(under(aqm), replications=4), run_live(under(aqm))


@needs_links
@pytest.mark.parametrize("aqm", AQMS)
def test_real_tcp_gets_what_the_queue_lets_through(aqm):
    _, measured = both(aqm)
    [audit] = measured.provenance.live["audits"]
    link = measured.link()
    # However late: what is sent is what the queue let through, and every mark is received.
    assert audit["far"]["ce_sent"] == audit["far"]["ce_received"]
    assert audit["far"]["bad_checksums"] == audit["near"]["bad_checksums"] == 0
    windows = link.by_replication[0]
    # Measuring ends with the scenario: what was let in last, marked or not, may never go out.
    behind = max(sum(w.arrivals - w.dropped for w in windows) - audit["far"]["sent"], 0)
    assert audit["far"]["ce_set"] + behind >= sum(w.marked for w in windows)
    assert audit["near"]["refused"] == audit["near"]["malformed"] == audit["near"]["no_route"] == 0
    carried = sum(w.departed_bytes for w in windows)
    assert 0 < 8 * measured.flows["delivered_1"].to_numpy().sum() <= 8 * carried
    if aqm in ("droptail", "chokew"):
        assert audit["far"]["ce_set"] == 0


@needs_links
@pytest.mark.real_time
@pytest.mark.parametrize("aqm", AQMS)
def test_real_tcp_uses_the_link(aqm):
    _, measured = both(aqm)
    skip_if_late(measured)
    [audit] = measured.provenance.live["audits"]
    assert measured.traffic()["goodput"].mean > 0.8 * 20e6 * 1448 / 1500
    assert (audit["far"]["ce_set"] > 0) == (aqm not in ("droptail", "chokew"))


@needs_links
@needs_ipv6
def test_marks_of_ipv6_are_received_as_they_were_set():
    measured = run_live(under("avq"), ipv6=True)
    [audit] = measured.provenance.live["audits"]
    link = measured.link()
    assert audit["far"]["ce_set"] == audit["far"]["ce_sent"] == audit["far"]["ce_received"] > 0
    assert audit["far"]["bad_checksums"] == audit["near"]["malformed"] == 0
    carried = sum(w.departed_bytes for w in link.by_replication[0])
    assert 0 < measured.flows["delivered_1"].to_numpy().sum() <= carried


@needs_links
@needs_ipv6
@pytest.mark.real_time
def test_real_tcp_uses_the_link_in_ipv6_too():
    measured = run_live(under("avq"), ipv6=True)
    skip_if_late(measured)
    assert measured.traffic()["goodput"].mean > 0.8 * 20e6 * 1428 / 1500


@needs_links
@needs_bbr
@pytest.mark.parametrize("ipv6", [False, pytest.param(True, marks=needs_ipv6)])
def test_bbr_has_its_packets_marked(ipv6):
    measured = run_live(under("avq"), law="bbr", ipv6=ipv6)
    [audit] = measured.provenance.live["audits"]
    assert measured.provenance.live["law"] == "bbr"
    assert audit["far"]["ce_sent"] == audit["far"]["ce_received"] > 0


@needs_links
@needs_bbr
@pytest.mark.real_time
def test_bbr_ignores_marks_and_loses_packets():
    measured = run_live(under("avq"), law="bbr")
    skip_if_late(measured)
    # Of the laws that listen none loses anything here after the first second.
    assert measured.link().figures()["drops"].mean > 0


@needs_links
@pytest.mark.real_time
def test_aqms_are_in_the_order_that_the_simulator_predicts():
    """Wherever the simulator says that one AQM has half the delay of another."""
    pairs = {aqm: both(aqm) for aqm in AQMS}
    valid = {a: p for a, p in pairs.items() if not p[1].provenance.live["invalid_reasons"]}
    delays = {a: [r.link().values("delay_mean").mean() for r in p] for a, p in valid.items()}
    told = [
        (low, high) for low in valid for high in valid if delays[low][0] < 0.5 * delays[high][0]
    ]
    if not told:
        pytest.skip("the machine did not keep up: nothing is said of its timing")
    for low, high in told:
        assert delays[low][1] < delays[high][1], (low, high, delays)


@needs_links
def test_simulation_and_reality_are_compared_in_one_table_and_picture(tmp_path):
    places = [tmp_path / "simulated", tmp_path / "measured"]
    for result, place in zip(both("avq"), places, strict=True):
        result.save(place)
    simulated, measured = map(Result.load, places)
    assert (simulated.provenance.live, measured.provenance.live["law"]) == (None, None)
    comparison = compare(simulated, measured)
    # The same seeds, but nobody real draws the same numbers.
    assert not comparison.paired
    assert {s.path for s in comparison.settings} == {"replications"}
    page = comparison_report(comparison).render()
    assert "Queueing delay [ms]" in page
    assert "Measured with real packets" in page or "Invalid" in page


@needs_links
@needs_dctcp
def test_dctcp_is_brought_into_the_kernel_for_as_long_as_it_is_needed():
    measured = run_live(short("transport.default.control=dctcp"))
    [audit] = measured.provenance.live["audits"]
    assert audit["far"]["ce_sent"] == audit["far"]["ce_received"] > 0
    # A connection that is being closed keeps its law for a moment, not its name.
    assert kernel.dctcp_name() not in kernel.AVAILABLE.read_text()


@needs_links
def test_a_link_that_no_machine_keeps_up_with_is_invalid(marqueue):
    # Beside a round trip of 4 us no machine is late by little.
    fast = ("topology.bottleneck.rate=50 Gbit/s", "topology.bottleneck.delay=1 us")
    near = ("topology.access.delay=1 us", "topology.rtts=['4 us']")
    brief = ("duration=2 s", "warmup=500 ms", "replications=1", "traffic.bulk.jitter=0 s")
    overrides = (word for each in (*fast, *near, *brief) for word in ("--set", each))
    done = marqueue("live", AVQ, *overrides, "-o", "x", "--json")
    assert done.returncode == 4, done.stderr
    assert "invalid" in done.stderr
    [said] = json.loads(done.stdout)["live"]["invalid_reasons"][:1]
    assert "release error" in said


def test_unsupported_scenarios_are_refused():
    laws = ["reno", "cubic"]
    for overrides, said in (
        (["transport.default.control=dctcp"], 'transport.default.control: got "dctcp"'),
        (["transport.default.control=aimd"], "expected one of Linux's"),
        (["traffic.bulk.sample_cwnd=true"], "traffic.bulk.sample_cwnd: got true"),
        (["warmup=auto", "duration=20 s"], 'warmup: got "auto"'),
        (["topology.bottleneck.trace=true"], "bottleneck: got trace = true"),
        (["traffic.bulk.count=101"], "got 101 TCP flows without end, expected at most 100"),
        (["transport.default.segment=64 B"], "expected 128 to 65535"),
    ):
        scenario = short(*overrides)
        with pytest.raises(ScenarioError) as error:
            refuse(scenario, compile(scenario), laws)
        assert said in str(error.value)
    small = short("transport.default.segment=1000 B")
    with pytest.raises(ScenarioError, match="expected 1280 to 65535"):
        refuse(small, compile(small), laws, ipv6=True)


def test_it_is_said_beforehand_how_long_it_takes(marqueue):
    refused = ("--set", "transport.default.control=aimd", "--set", "duration=50 s")
    for replications, said in (
        (3, "3 replications of 50 s, one after the other in real time: 2 min 30 s"),
        (1, "1 replication in real time: 50 s"),
    ):
        done = marqueue("live", AVQ, *refused, "-r", str(replications))
        assert done.returncode == 2
        assert said in done.stderr


def audit(**far: int) -> dict[str, object]:
    error = {"packets": 1000, "p99": 100e-6}
    counts = {"no_memory": 0, "ce_sent": 0}
    return {"release_error": error, "near": counts, "far": {**counts, **far}}


def test_the_audit_says_what_makes_a_result_invalid():
    assert invalid_reasons(audit(), 201e-6) == []
    [late] = invalid_reasons(audit(), 199e-6)
    assert "100.0 us, expected at most half a packet time (99.5 us)" in late
    assert invalid_reasons(audit(ce_sent=5, ce_received=5), 1.0) == []
    [marks] = invalid_reasons(audit(ce_sent=5, ce_received=4), 1.0)
    assert "5 packets left the link with CE at the far end, but 4 arrived with CE" in marks
    [lost] = invalid_reasons(audit(tun_drops=3), 1.0)
    assert "3 packets were lost before the link" in lost


SS = (
    "ESTAB 0 3014 198.18.0.1:20003 198.19.0.1:20003  cubic wscale:10,10 rto:204 rtt:20.295/0.351 "
    "mss:1448 cwnd:14 ssthresh:9 data_segs_out:662 retrans:0/5 delivered_ce:7\n"
    "ESTAB 0 0 198.18.0.1:58076 198.19.0.1:20003 bbr rto:204 cwnd:13 bytes_received:4\n"
)


def test_sockets_are_read_by_the_ports_of_their_flows():
    [(port, words)] = parse(SS)
    samples = Samples(sender=[(1.0, words)])
    assert port == 20003
    assert (samples.number("retrans"), samples.number("data_segs_out")) == (5, 662)
    assert (words["ssthresh"], words["rtt"], words["delivered_ce"]) == ("9", "20.295/0.351", "7")
