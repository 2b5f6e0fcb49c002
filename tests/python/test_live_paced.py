"""Paced flows, packets without control, applications that pause and CPUs, with real packets."""

import numpy as np
import pytest

from live_requirements import needs_links
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


def skip_if_late(result) -> None:
    reasons = result.provenance.live["invalid_reasons"]
    late = [each for each in reasons if "late" in each or "keep up" in each or "lost" in each]
    assert reasons == late
    if late:
        pytest.skip("the machine did not keep up: nothing is said of its timing")


@needs_links
def test_paced_flows_settle_where_the_price_on_the_wire_leads_them():
    scenario = from_toml(MKC)
    result = run_live(scenario)
    # Before any skip: packets arrived, and prices came back.
    paced = result.to_pandas("paced")
    assert sorted(paced["flow"].unique()) == [0, 1, 2, 3]
    assert np.isfinite(paced["price"]).any()
    skip_if_late(result)
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
def test_applications_that_pause_and_random_packets_offer_what_the_scenario_says():
    scenario = from_toml(OTHERS)
    result = run_live(scenario)
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
    cpu = result.link("bottleneck/cpu")
    audit = result.provenance.live["audits"][0]
    # The field of DRQ stays inside: outside there are ECT(0) and CE, as Linux counts them.
    assert audit["far"]["ce_sent"] == audit["far"]["ce_received"] > 0
    assert audit["far"]["ce_set"] == audit["far"]["ce_sent"]
    skip_if_late(result)
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
