"""Real finite, arriving and constant-rate flows, compared with the simulator's.

What depends on the machine's speed is marked ``real_time`` and not part of CI (make test-timing).
"""

import pytest

from live_requirements import needs_ipv6, needs_links, skip_if_late
from marqueue.errors import ScenarioError
from marqueue.live.audit import invalid_reasons
from marqueue.live.flows import flows_of, hosts_of
from marqueue.live.run import run_live
from marqueue.live.unsupported import refuse
from marqueue.results import Result
from marqueue.results.comparison import compare
from marqueue.scenario import Scenario, compile, from_toml
from marqueue.simulation.run import run

RATE = 10e6
TRAFFIC = """
name = "Traffic"
duration = "4 s"
warmup = "1 s"
replications = 1

[topology]
kind = "dumbbell"
rtts = ["20 ms", "40 ms"]
access = { rate = "1 Gbit/s", delay = "2 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "5 ms", buffer = "60 packets", aqm = "fq_codel" }

[transport.default]
preset = "linux"
ecn = true
"""
GREEDY = """
[[traffic]]
name = "greedy"
kind = "tcp"
count = 2
jitter = "100 ms"
"""
FILES = """
[[traffic]]
name = "files"
kind = "tcp"
count = 4
size = "50 packets"
start = "1 s"
jitter = "500 ms"
"""
SHORT = """
[[traffic]]
name = "short"
kind = "poisson"
rate = "20 /s"
size = "5 packets"
sizes = "pareto"
shape = 1.5
stop = "3 s"
"""
CALL = """
[[traffic]]
name = "call"
kind = "cbr"
rate = "100 kbit/s"
packet = "250 B"
"""
FLOOD = """
[[traffic]]
name = "flood"
kind = "cbr"
classes = ["20 ms"]
rate = "12 Mbit/s"
packet = "1500 B"
start = "500 ms"
jitter = "0 s"
"""


def scenario(*traffic: str) -> Scenario:
    return from_toml(TRAFFIC + "".join(traffic))


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=needs_ipv6)])
def ending(request) -> tuple[Scenario, Result]:
    """Over IPv4 and over IPv6."""
    wanted = scenario(GREEDY, FILES, SHORT, CALL)
    return wanted, run_live(wanted, ipv6=request.param)


@needs_links
def test_finite_flows_carry_what_they_are_to_and_tell_how_long_it_took(ending):
    wanted, measured = ending
    ipv6 = measured.provenance.live["ipv6"]
    planned = flows_of(compile(wanted), measured.provenance.seeds[0], None, ipv6=ipv6)
    rows = measured.flows.to_pylist()
    assert len(rows) == len(planned)
    for flow, row in zip(planned, rows, strict=True):
        # Nobody is early, and whoever has finished has delivered all, no faster than can be.
        assert row["start"] >= flow.start
        assert row["size"] == flow.size
        assert flow.size or row["delivered_1"] > 0
        if row["fct"] is not None:
            payload = flow.size * flow.host.payload
            assert sum(row[name] for name in row if name.startswith("delivered_")) == payload
            assert row["sent"] - row["retransmits"] >= flow.size
            # The handshake takes a round trip, and what comes last is answered after another.
            round_trip = {"20 ms": 20e-3, "40 ms": 40e-3}[row["class"]]
            assert row["fct"] >= 2 * round_trip + 8 * payload / RATE


@needs_links
@pytest.mark.real_time
def test_finite_flows_finish(ending):
    _, measured = ending
    skip_if_late(measured)
    rows = measured.flows.to_pylist()
    assert any(row["fct"] for row in rows if row["group"] == "files")
    assert any(row["fct"] for row in rows if row["group"] == "short")


@needs_links
def test_completion_times_are_compared_with_the_simulators(ending):
    wanted, measured = ending
    comparison = compare(run(wanted, replications=2), measured)
    for group in ("files", "short"):
        told = {each.figure.name: each for each in comparison.by_group()[group]}
        times = measured.traffic(group=group)["fct_mean"]
        if times.n:
            assert told["fct_mean"].b == times
            assert told["fct_mean"].a.mean > 0


def flooded(aqm: str) -> Scenario:
    return from_toml((TRAFFIC + GREEDY + FLOOD).replace('"fq_codel"', f'"{aqm}", signal = "drop"'))


@needs_links
def test_a_flow_that_does_not_listen_sends_all_that_is_due():
    measured = run_live(flooded("choke"))
    [flood] = [row for row in measured.flows.to_pylist() if row["group"] == "flood"]
    due = 3.5 * 12e6 / 12_000
    assert flood["sent"] == pytest.approx(due, abs=1)
    received = sum(value for name, value in flood.items() if name.startswith("delivered_"))
    assert 0 < received <= 1500 * flood["sent"]
    assert measured.provenance.live["audits"][0]["far"]["no_room"] == 0


@needs_links
@pytest.mark.real_time
@pytest.mark.parametrize("aqm", ["droptail", "choke", "fq_codel"])
def test_a_flow_that_does_not_listen_gets_what_the_aqm_leaves_it(aqm):
    wanted = flooded(aqm)
    measured, simulated = run_live(wanted), run(wanted, replications=2)
    skip_if_late(measured)
    shares = [each.traffic(group="flood")["goodput"].mean / RATE for each in (simulated, measured)]
    # 0.99, 0.65 and 0.33 of the link: which one is no matter of chance.
    assert shares[1] == pytest.approx(shares[0], abs=0.15)


def test_each_group_and_class_has_its_addresses_and_each_flow_its_port():
    plan = compile(scenario(GREEDY, FILES, SHORT, FLOOD))
    hosts, flows = hosts_of(plan), flows_of(plan, 1, None)
    assert len({host.near for host in hosts}) == len({host.far for host in hosts}) == len(hosts)
    assert {(host.entry, host.route) for host in hosts} == {
        *((0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (4, 1), (5, 0))
    }
    assert len({flow.port for flow in flows}) == len(flows)
    assert {(flow.size > 0, flow.gap > 0) for flow in flows} == {
        *((False, False), (True, False), (False, True))
    }
    assert max(f.start for f in flows if f.host.entry == 4) < 3


def test_flows_that_arrive_have_the_size_of_the_scenario_where_it_is_constant():
    constant = "\n".join(line for line in SHORT.splitlines() if not line.startswith("s"))
    wanted = scenario(constant + '\nsize = "7 packets"\n')
    assert {flow.size for flow in flows_of(compile(wanted), 7, None)} == {7}


def test_a_group_more_changes_no_others_flows():
    alone, beside = (
        [(f.start, f.size) for f in flows_of(compile(scenario(*of)), 7, None) if f.host.entry < 4]
        for of in ((GREEDY, FILES), (GREEDY, FILES, SHORT))
    )
    assert alone == beside


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (
            FILES.replace("start", 'stop = "2 s"\nstart'),
            'traffic.files.stop: got "2 s", expected none',
        ),
        (FILES + "trace = true\n", "traffic.files.trace: got true"),
        (SHORT.replace('"20 /s"', '"9000 /s"'), "got 27000 other flows, expected at most 20000"),
        (
            FLOOD.replace('"1500 B"', '"28 B"'),
            'traffic.flood.packet: got "28 B", expected at least 29 B',
        ),
        (
            FLOOD.replace('"12 Mbit/s"', '"1 Gbit/s"'),
            "got 83333 UDP packets a second without control",
        ),
        (
            FLOOD.replace('"cbr"', '"paced"').replace('"1500 B"', '"55 B"'),
            'traffic.flood.packet: got "55 B", expected at least 56 B',
        ),
    ],
)
def test_unsupported_traffic_is_refused(traffic, said):
    wanted = scenario(traffic)
    with pytest.raises(ScenarioError) as error:
        refuse(wanted, compile(wanted), ["reno", "cubic"])
    assert said in str(error.value)


def test_udp_packets_that_are_late_make_a_result_invalid():
    ends = {"no_memory": 0, "ce_sent": 0}
    audit = {"release_error": {"packets": 0}, "near": ends, "far": ends}
    assert invalid_reasons(audit | {"packets": {"late": 1e-3, "gap": 1e-3}}, None) == []
    [late] = invalid_reasons(audit | {"packets": {"late": 1.1e-3, "gap": 1e-3}}, None)
    assert "is 1100.0 us, expected at most the time between two of a flow (1000.0 us)" in late
    assert invalid_reasons(audit | {"paced": {"late": 1.0}}, None) == []
    [late] = invalid_reasons(audit | {"paced": {"late": 1.25}}, None)
    assert "is 1.25 times the time between two of their flow, expected at most 1" in late
    [lost] = invalid_reasons(audit | {"far": ends | {"no_room": 2}}, None)
    assert "2 UDP packets were lost after the link, at the far end" in lost


def test_bursts_that_follow_each_other_do_not_add_up():
    # Each of 15,000 packets a second; one of them is within what a process can send.
    burst = FLOOD.replace('"12 Mbit/s"', '"180 Mbit/s"')

    def at(name: str, start: int, stop: int) -> str:
        times = f'start = "{start} s"\nstop = "{stop} s"\n'
        kept = [line for line in burst.splitlines() if not line.startswith(("start", "stop"))]
        return "\n".join(kept).replace('"flood"', f'"{name}"') + "\n" + times

    one_by_one = scenario(at("a", 1, 2) + at("b", 2, 3))
    refuse(one_by_one, compile(one_by_one), ["reno", "cubic"])
    together = scenario(at("a", 1, 3) + at("b", 2, 3))
    with pytest.raises(ScenarioError, match="got 30000 UDP packets a second"):
        refuse(together, compile(together), ["reno", "cubic"])
