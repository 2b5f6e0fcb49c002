"""Paced flows, packets without control, applications that pause and CPUs, with real packets.

What depends on the machine's speed is marked ``real_time`` and not part of CI (make test-timing).
"""

import numpy as np
import pytest

from live_requirements import assert_late_at_most, needs_links, skip_if_late
from marqueue.live.flows import flows_of
from marqueue.live.run import run_live
from marqueue.scenario import compile, from_toml
from marqueue.simulation.run import run

BASE = """
name = "live"
duration = "{duration} s"
warmup = "{warmup} s"
replications = 1
sample = "100 ms"
[topology]
kind = "dumbbell"
rtts = ["20 ms", "40 ms"]
[topology.bottleneck]
rate = "4 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
"""

MKC = (
    BASE.format(duration=5, warmup=3)
    + """
aqm = {{ name = "mkc", delta = "50 ms" }}
[[traffic]]
name = "paced"
kind = "paced"
count = 4
control = {{ name = "emkc", alpha = "100 kbit/s", beta = 0.9 }}
rate = "500 kbit/s"
packet = "500 B"
jitter = "100 ms"
trace = true
""".replace("{{", "{").replace("}}", "}")
)


@needs_links
def test_paced_flows_get_prices_back():
    result = run_live(from_toml(MKC))
    paced = result.to_pandas("paced")
    assert sorted(paced["flow"].unique()) == [0, 1, 2, 3]
    assert np.isfinite(paced["price"]).any()
    assert_late_at_most(result)


@needs_links
@pytest.mark.real_time
def test_paced_flows_settle_where_the_price_on_the_wire_leads_them():
    scenario = from_toml(MKC)
    result = run_live(scenario)
    skip_if_late(result)
    paced = result.to_pandas("paced")
    # X* = C + N alpha / beta, of which the excess is lost (Zhang, Kang and Loguinov, section 4).
    excess = 4 * 100e3 / 0.9
    last = paced[paced["t"] > 4].groupby("flow")["rate"].mean()
    # Four standard deviations of a flow's rate between simulated replications, 2.5 %.
    assert last.to_numpy() == pytest.approx(np.full(4, (4e6 + excess) / 4), rel=0.1)
    simulated = run(scenario).link("bottleneck").figures()["loss_ratio"].mean
    measured = result.link("bottleneck").figures()["loss_ratio"].mean
    # Simulated replications have 0.0991, with a standard deviation of 0.0004; reality has late
    # packets too.
    assert simulated == pytest.approx(excess / (4e6 + excess), rel=0.02)
    assert measured == pytest.approx(simulated, rel=0.05)


OTHERS = (
    BASE.format(duration=3, warmup=0.5)
    + """
aqm = "droptail"
[[traffic]]
name = "poisson packets"
kind = "packets"
rate = "200 /s"
packet = "500 B"
sizes = "exponential"
[[traffic]]
name = "pauses"
kind = "tcp"
count = 2
write = "5 packets"
every = "250 ms"
jitter = "0 s"
"""
)


@needs_links
def test_applications_that_pause_and_random_packets_send():
    sent = run_live(from_toml(OTHERS)).to_pandas("flows").groupby("group")["sent"].sum()
    # A piece of five packets at the start of each of two flows, and another.
    assert sent["pauses"] >= 20
    assert sent["poisson packets"] > 0


@needs_links
@pytest.mark.real_time
def test_applications_that_pause_and_random_packets_offer_what_the_scenario_says():
    result = run_live(from_toml(OTHERS))
    skip_if_late(result)
    flows = result.to_pandas("flows")
    sent = flows.groupby("group")["sent"].sum()
    # 600 on average, of which a tenth is 2.4 standard deviations.
    assert 540 < sent["poisson packets"] < 660
    # Two flows: a piece of five packets at the start and after each of eleven gaps.
    assert float(sent["pauses"]) == pytest.approx(120, abs=12)
    assert result.link("bottleneck").figures()["loss_ratio"].mean == 0


CPU = (
    BASE.format(duration=4, warmup=1.5)
    + """
aqm = { name = "drq", min_th = "5 packets", max_th = "50 packets", w_q = 0.01 }
[topology.bottleneck.cpu]
clock = "2 Mcycles/s"
buffer = "100 packets"
aqm = { name = "drq", min_th = "5 packets", max_th = "50 packets", w_q = 0.01 }
[transport.default]
preset = "rfc"
segment = "960 B"
ecn = true
ecn_field = "initial"
[[traffic]]
name = "light"
kind = "tcp"
count = 2
processing = "0.25 cycles/bit"
[[traffic]]
name = "heavy"
kind = "tcp"
count = 2
processing = "1 cycles/bit"
"""
)


@needs_links
def test_real_tcp_is_marked_by_a_cpu_under_drq_as_rfc_3168_has_it():
    result = run_live(from_toml(CPU))
    audit = result.provenance.live["audits"][0]
    # The field of DRQ stays inside: outside there are ECT(0) and CE, as Linux counts them.
    assert audit["far"]["ce_sent"] == audit["far"]["ce_received"] > 0
    assert audit["far"]["ce_set"] == audit["far"]["ce_sent"]
    assert_late_at_most(result)


@needs_links
@pytest.mark.real_time
def test_under_drq_a_busy_cpu_serves_those_more_who_need_more_of_it():
    result = run_live(from_toml(CPU))
    skip_if_late(result)
    cpu = result.link("bottleneck/cpu")
    assert cpu.figures()["utilization"].mean > 0.8
    shares = cpu.shares()
    assert shares["heavy"]["share"].mean > shares["light"]["share"].mean


def test_what_senders_draw_is_of_the_seed():
    plan = compile(from_toml(OTHERS))
    first, again, other = (
        [(flow.seed, flow.start) for flow in flows_of(plan, seed, None)] for seed in (1, 1, 2)
    )
    assert first == again
    assert len({seed for seed, _ in first + other}) == 2 * len(first)
