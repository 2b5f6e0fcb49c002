"""TCP windows under marking with thresholds that grow as N^a: a doubly stochastic Markov chain.

D. Y. Eun and X. Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With
Small Buffer", IEEE/ACM ToN 16(4), 2008. The chain is lumped exactly over window values; its mean
field is here, too.
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
