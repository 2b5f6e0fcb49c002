"""Estimates over replications; moments, quantiles and fairness indices of samples.

Sources: A. M. Law, *Simulation Modeling and Analysis*, 5th ed., chapter 9 (replications and
Student intervals); W. G. Cochran, *Sampling Techniques*, 3rd ed., chapter 6 (ratio estimator);
R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984 (fairness index).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from marqueue._core import student_quantile
from marqueue.errors import MISSING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Floats = np.ndarray[Any, np.dtype[np.float64]]
Counts = np.ndarray[Any, np.dtype[np.int64]]

#: Degrees of freedom above which Student's quantile is an expansion around the normal one.
MANY = 1000


@lru_cache
def student_t(n: float, confidence: float) -> float:
    """The factor of a two-sided interval over ``n`` independent values.

    Above :data:`MANY` degrees of freedom it uses the expansion of M. Abramowitz and I. Stegun,
    *Handbook of Mathematical Functions*, 26.7.5, whose error is then below 1e-12.
    """
    freedom, share = n - 1, 0.5 + confidence / 2
    if freedom <= MANY:
        return student_quantile(freedom, share)
    z = NormalDist().inv_cdf(share)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**i for i, term in enumerate(terms))


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n`` replications with the half width of its Student interval.

    ``half_width`` is None for a single replication. A replication without a value, for example
    because no flow finished, is not counted in ``n``.
    """

    mean: float
    half_width: float | None
    n: int
    confidence: float = 0.95

    @classmethod
    def of(cls, values: Iterable[float], confidence: float = 0.95) -> Estimate:
        """The mean of one value per replication; values that are not finite are ignored."""
        finite = [v for v in values if math.isfinite(v)]
        if not finite:
            return cls(math.nan, None, 0, confidence)
        if len(finite) == 1:
            return cls(float(finite[0]), None, 1, confidence)
        x = np.array(finite, dtype=float)
        # What x.mean() and x.std(ddof=1) do, without their checks: a summary has hundreds of these.
        mean = float(np.add.reduce(x)) / x.size
        deviation = x - mean
        variance = float(np.add.reduce(deviation * deviation)) / (x.size - 1)
        error = math.sqrt(variance) / math.sqrt(x.size)
        return cls(mean, student_t(x.size, confidence) * error, x.size, confidence)

    @classmethod
    def ratio(
        cls, numerators: Iterable[float], denominators: Iterable[float], confidence: float = 0.95
    ) -> Estimate:
        """The ratio of two sums taken in each replication (Cochran, section 6.4).

        The estimate is the sum of all numerators over the sum of all denominators, which gives
        every packet the same weight. The error is that of the residuals y - r x. Replications with
        a denominator of zero are ignored.
        """
        pairs = [(y, x) for y, x in zip(numerators, denominators, strict=True) if x > 0]
        n = len(pairs)
        if n == 0:
            return cls(math.nan, None, 0, confidence)
        if n == 1:
            [(only, per)] = pairs
            return cls(float(only) / float(per), None, 1, confidence)
        y, x = np.array(pairs, dtype=float).T
        r = float(y.sum() / x.sum())
        residual = math.sqrt(float(((y - r * x) ** 2).sum()) / (n - 1))
        error = residual / (math.sqrt(n) * float(x.mean()))
        return cls(r, student_t(n, confidence) * error, n, confidence)

    @classmethod
    def welch(cls, a: Floats, b: Floats, confidence: float = 0.95) -> Estimate:
        """The difference of two means, b - a, of independent samples.

        Degrees of freedom after Welch (Law, section 10.2.2); ``n`` is the size of the smaller
        sample.
        """
        a, b = a[np.isfinite(a)], b[np.isfinite(b)]
        n = min(a.size, b.size)
        if n == 0:
            return cls(math.nan, None, 0, confidence)
        difference = float(differences(a.mean(), b.mean()))
        if n == 1:
            return cls(difference, None, 1, confidence)
        of_a, of_b = (float(x.var(ddof=1)) / x.size for x in (a, b))
        error = math.sqrt(of_a + of_b)
        if error <= ROUND_OFF * max(np.abs(a).max(), np.abs(b).max()):
            return cls(difference, 0.0, n, confidence)
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
        return cls(difference, student_t(freedom + 1, confidence) * error, n, confidence)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval; None for fewer than two replications."""
        if self.half_width is None:
            return None
        return self.mean - self.half_width, self.mean + self.half_width

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit."""
        half = None if self.half_width is None else self.half_width * abs(factor)
        return Estimate(self.mean * factor, half, self.n, self.confidence)

    @classmethod
    def from_dict(
        cls, plain: Mapping[str, float | int | None], confidence: float = 0.95
    ) -> Estimate:
        """The reverse of :meth:`as_dict`."""
        mean, half = plain["mean"], plain["half_width"]
        n = int(plain["n"] or 0)
        return cls(math.nan if mean is None else float(mean), half, n, confidence)

    def as_dict(self) -> dict[str, float | int | None]:
        """Ready for JSON; a mean that does not exist is null."""
        mean = self.mean if math.isfinite(self.mean) else None
        return {"mean": mean, "half_width": self.half_width, "n": self.n}

    def __str__(self) -> str:
        """``0.9803 ± 0.0004``: the interval has one digit, two if it begins with 1."""
        if not math.isfinite(self.mean):
            return MISSING
        if self.half_width is None:
            return plain(self.mean)
        if self.half_width <= 10.0**-DIGITS * abs(self.mean):
            return f"{plain(float(f'{self.mean:.{DIGITS}g}'))} ± 0"
        power = math.floor(math.log10(max(abs(self.mean), self.half_width)))
        if power < SMALL:
            inner = self.scaled(10.0**-power)
            return f"({inner})·10{str(power).translate(SUPERSCRIPT)}"
        decimals = -math.floor(math.log10(self.half_width))
        if f"{self.half_width:e}"[0] == "1":
            decimals += 1
        if decimals <= 0:
            return f"{round(self.mean, decimals):.0f} ± {round(self.half_width, decimals):.0f}"
        decimals = min(decimals, DIGITS - power)
        return f"{self.mean:.{decimals}f} ± {self.half_width:.{decimals}f}"


#: Numbers below this power of ten are written with an exponent.
SMALL = -3
#: Significant digits after the first that are shown at most: a simulated second has so many
#: nanoseconds. A narrower interval is shown as 0.
DIGITS = 9
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(x: float) -> str:
    """A number with four significant digits; a whole number in full."""
    if not math.isfinite(x):
        return MISSING
    if x == 0 or (float(x).is_integer() and abs(x) < 1e9):
        return str(int(x))
    digits, _, exponent = f"{x:.3e}".partition("e")
    power = int(exponent)
    if power < SMALL or power >= 9:
        return f"{digits}·10{str(power).translate(SUPERSCRIPT)}"
    return f"{x:.{max(0, 3 - power)}f}"


def ratio_terms(numerators: Iterable[float], denominators: Iterable[float]) -> Floats:
    """Each replication's part in the ratio of two sums, r + (y - r x) / mean(x).

    The mean of these terms is the ratio r, and their Student interval is that of
    :meth:`Estimate.ratio`, so ratios can be compared like means. NaN where the denominator is zero.
    """
    y, x = (np.array(list(values), dtype=float) for values in (numerators, denominators))
    there = x > 0
    terms = np.full(x.size, math.nan)
    if there.any():
        r = y[there].sum() / x[there].sum()
        terms[there] = r + (y[there] - r * x[there]) / x[there].mean()
    return terms


def jain(x: ArrayLike) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has all.

    NaN without values, or if all are zero.
    """
    v = np.asarray(x, dtype=float)
    largest = float(v.max(initial=0.0))
    if largest <= 0:
        return math.nan
    v = v / largest  # Squares of tiny or huge values would leave the range of a double.
    return float(v.sum() ** 2 / (v.size * (v**2).sum()))


#: The part of two numbers that rounding may explain in their difference: those compared here are
#: sums and quotients with a few roundings of 1.1e-16 each.
ROUND_OFF = 1e-14


def differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """b - a for each pair; 0 where rounding explains the difference (:data:`ROUND_OFF`)."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    with np.errstate(invalid="ignore"):
        out = b - a
        explained = np.abs(out) <= ROUND_OFF * np.maximum(np.abs(a), np.abs(b))
    return np.where(explained, 0.0, out)


def ecdf(x: ArrayLike) -> tuple[Floats, Floats]:
    """The empirical distribution: sorted values and the share of values at most that large."""
    v = np.sort(np.asarray(x, dtype=float))
    v = v[np.isfinite(v)]
    return v, np.arange(1, len(v) + 1) / max(1, len(v))


def quantile(x: ArrayLike, share: float) -> float:
    """A sample quantile with linear interpolation between order statistics (definition 7 of
    R. J. Hyndman, Y. Fan, *The American Statistician* 50, 1996); NaN without values."""
    v = np.asarray(x, dtype=float)
    if not v.size:
        return math.nan
    # np.quantile is the same to the last digit, and ten times slower for a few values.
    rank = share * (v.size - 1)
    at = math.floor(rank)
    v = np.partition(v, (at, min(at + 1, v.size - 1)))
    low, high = float(v[at]), float(v[min(at + 1, v.size - 1)])
    part = rank - at
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
