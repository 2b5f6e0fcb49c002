"""RFC 9743: criteria for new congestion control algorithms, as a suite of scenarios."""

from marqueue.evaluation.case import Suite
from marqueue.evaluation.rfc9743 import criteria, paths

RFC9743: Suite[str] = Suite(
    name="rfc9743",
    title="RFC 9743: specifying new congestion control algorithms",
    source="RFC 9743, March 2025",
    cases=(*criteria.alone(), *criteria.mixed(), *paths.cases()),
    baseline="cubic",
    missing=(
        "tunnels (6.2), circuit breakers (7.2) and multipath transport (7.10): the simulator has "
        "no "
        "model of them",
        "real-time congestion controls (5.2.2): real-time flows here have a constant rate",
        "misbehaving receivers and routers (7.6): only an unresponsive sender is there",
        "principles and incremental deployment (5.3) are discussions, not scenarios",
    ),
)

__all__ = ["RFC9743"]
