"""Scripts of packetdrill, played against the TCP sender of the simulator.

A script is text that says which system calls an application makes, which segments arrive, and
which must leave and when. ``parser`` reads it, ``settings`` translates its sysctls, ``connection``
plays it and ``suite`` judges many. Source of the language: Cardwell et al., "packetdrill:
Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013.
"""

from marqueue.conformance.packetdrill.parser import parse
from marqueue.conformance.packetdrill.suite import Outcome, find_scripts, judge, judge_all

__all__ = ["Outcome", "find_scripts", "judge", "judge_all", "parse"]
