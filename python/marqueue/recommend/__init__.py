"""Which AQM meets goals on a link: candidates with parameters from design, simulated over ranges.

``question`` and ``goals`` read what is asked, ``mixes`` makes the traffic, ``candidates`` the AQMs
with their parameters, ``recommendation`` simulates and decides, ``linux_tc`` writes the command for
Linux, and ``page`` the report.
"""

from marqueue.recommend.question import Question, Range
from marqueue.recommend.recommendation import Recommendation, recommend

__all__ = ["Question", "Range", "Recommendation", "recommend"]
