"""RFC 7928: characterization guidelines for active queue management, as a suite of scenarios."""

from marqueue.evaluation.case import Suite
from marqueue.evaluation.rfc7928 import senders
from marqueue.scenario import Aqm

RFC7928: Suite[Aqm] = Suite(
    name="rfc7928",
    title="RFC 7928: characterization of active queue management",
    source="RFC 7928, July 2016",
    cases=(*senders.cases(),),
    baseline="droptail",
)

__all__ = ["RFC7928"]
