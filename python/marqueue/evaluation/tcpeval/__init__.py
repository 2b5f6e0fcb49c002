"""draft-irtf-iccrg-tcpeval: the common TCP evaluation suite, as a suite of scenarios."""

from marqueue.evaluation.case import Suite
from marqueue.evaluation.tcpeval import basic, latency, throughput

TCPEVAL: Suite[str] = Suite(
    name="tcpeval",
    title="draft-irtf-iccrg-tcpeval: common TCP evaluation suite",
    source="draft-irtf-iccrg-tcpeval-01, July 2014",
    cases=(*basic.cases(), *latency.cases(), *throughput.cases()),
    baseline="reno",
    missing=(
        "the recorded connections (2.2.1): Poisson arrivals and Pareto sizes stand for them, the "
        "model of appendix A, without prefilling (3.3)",
        "buffers of 25, 50 and 200% at 1 Gbit/s in 6.2, of which a run has seventeen million "
        "packets",
        "contention of both directions for the medium of 802.11 (4.4.5): each has accesses that "
        "wait for others, with the nominal rate of the draft",
        "pairs of equal connections in both camps of 6.1: the camps have equal loads",
    ),
)

__all__ = ["TCPEVAL"]
