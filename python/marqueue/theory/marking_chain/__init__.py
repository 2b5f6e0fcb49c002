"""TCP windows under marking whose thresholds grow as N^a: the doubly stochastic chain of D. Y. Eun
and X. Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small
Buffer", IEEE/ACM ToN 16(4), 2008, lumped exactly over window values, and its mean field.
"""

from marqueue.theory.marking_chain.meanfield import MeanWindow, mean_window
from marqueue.theory.marking_chain.model import Model, RttClass
from marqueue.theory.marking_chain.simulate import ChainResult, Series, simulate
from marqueue.theory.marking_chain.spectrum import Spectrum, spectrum
from marqueue.theory.marking_chain.stability import MeanField, mean_field

__all__ = [
    "ChainResult",
    "MeanField",
    "MeanWindow",
    "Model",
    "RttClass",
    "Series",
    "Spectrum",
    "mean_field",
    "mean_window",
    "simulate",
    "spectrum",
]
