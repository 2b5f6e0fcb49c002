"""The spectrum of the sum of all windows, by Welch's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SEGMENT = 256
"""Length of a segment, in T."""


@dataclass(frozen=True)
class Spectrum:
    """Power spectrum of the load: a one-sided density whose integral is the variance."""

    frequency: Floats
    """Frequencies, cycles per round-trip time T."""
    density: Floats
    """Density of the load rho = sum W T / (T_i N C T): variance per (cycle per T)."""

    @property
    def peak(self) -> float:
        """Frequency of the largest density, cycles per T."""
        return float(self.frequency[np.argmax(self.density)])


def spectrum(loads: Sequence[Floats], slots: int) -> Spectrum:
    """The mean spectrum of several series of loads, with ``slots`` values in T, by Welch's method
    with Hann windows of :data:`SEGMENT` T that overlap by half (Welch 1967)."""
    # scipy.signal is imported here because its import takes longer than many runs.
    from scipy.signal import welch

    length = min(SEGMENT * slots, *(len(each) for each in loads))
    found = [welch(each, fs=slots, nperseg=length) for each in loads]
    return Spectrum(found[0][0][1:], np.mean([density for _, density in found], axis=0)[1:])
