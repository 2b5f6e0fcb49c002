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
        "central links of 1 Gbit/s in 5.2 and 6.2, where runs have fifty million packets: 10 "
        "Mbit/s only",
        "slow start disabled in 5.2, which no control has as a setting",
        "802.11 (4.4.5): a link of its nominal rate and varying delay stands for it",
        "pairs of equal connections in both camps of 6.1: the camps have equal loads",
    ),
)

__all__ = ["TCPEVAL"]
