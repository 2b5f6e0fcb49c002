"""How the sum of all windows moves: its spectrum by Welch's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SEGMENT = 256
"""Units of time T in a segment."""


@dataclass(frozen=True)
class Spectrum:
    """Power of the load's fluctuation by frequency: a one-sided density, whose integral is its
    variance."""

    frequency: Floats
    """Cycles a round-trip time T."""
    density: Floats
    """Of the load rho = sum W T / (T_i N C T): variance a cycle per T."""

    @property
    def peak(self) -> float:
        """Where it is greatest, cycles per T."""
        return float(self.frequency[np.argmax(self.density)])


def spectrum(loads: Sequence[Floats], slots: int) -> Spectrum:
    """The mean over series of loads, ``slots`` values in T: Welch's method with Hann windows of
    :data:`SEGMENT` T that overlap by half (Welch 1967)."""
    # Loading scipy.signal takes longer than many a run.
    from scipy.signal import welch

    length = min(SEGMENT * slots, *(len(each) for each in loads))
    found = [welch(each, fs=slots, nperseg=length) for each in loads]
    return Spectrum(found[0][0][1:], np.mean([density for _, density in found], axis=0)[1:])
