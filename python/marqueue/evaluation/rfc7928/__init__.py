"""RFC 7928: characterization guidelines for active queue management, as a suite of scenarios."""

from marqueue.evaluation.case import Suite
from marqueue.evaluation.rfc7928 import bursts, control_law, profiles, senders, stability
from marqueue.scenario import Aqm

RFC7928: Suite[Aqm] = Suite(
    name="rfc7928",
    title="RFC 7928: characterization of active queue management",
    source="RFC 7928, July 2016",
    cases=(
        *senders.cases(),
        *bursts.cases(),
        *stability.cases(),
        *control_law.cases(),
        *profiles.cases(),
    ),
    baseline="droptail",
    missing=(
        "interaction with scheduling (4.6), implementation cost (11) and operator control (12) are "
        "discussions, not scenarios",
        "traffic mix in both directions (9.2), two different AQMs in series (10.2), and capacity "
        "that "
        "varies during slow start (8.2.6), which the text makes optional",
        "adaptive video: the video of 7.2 and 9.1 has a fixed rate",
    ),
)

__all__ = ["RFC7928"]
