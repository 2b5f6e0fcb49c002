"""What all links of a result did over all replications and the measured time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marqueue.results.data import ResultData
from marqueue.results.tables import WORK
from marqueue.statistics.estimates import Floats


@dataclass(frozen=True)
class LinkTotals:
    """Sums of all links with a queue, in the order of the plan; each of shape [links]."""

    capacity: Floats
    """Bits or cycles that could be served."""
    used: Floats
    """Bits or cycles that were served."""
    arrivals: Floats
    """Packets."""
    departures: Floats
    """Packets."""
    signals: Floats
    """Packets dropped or marked."""
    delay_sum: Floats
    """Of the queueing delays of packets that left, s."""

    @classmethod
    def of(cls, result: ResultData) -> LinkTotals:
        """The sums of a result, from its table of windows."""
        windows = result.tables["windows"]
        number = {name: i for i, name in enumerate(result.links)}
        link = np.array([number[name] for name in windows["link"].to_pylist()], dtype=np.int64)
        window = windows["window"].to_numpy()
        measured = (window >= result.measured.start) & (window < result.measured.stop)
        names = windows.column_names
        units = [unit for unit in WORK.values() if unit[0] in names]

        def total(*columns: str) -> Floats:
            sums = np.zeros(len(number))
            for column in columns:
                values = np.nan_to_num(windows[column].to_numpy().astype(float))
                sums += np.bincount(link, np.where(measured, values, 0.0), len(number))
            return sums

        return cls(
            total(*(capacity for capacity, _ in units)),
            total(*(used for _, used in units)),
            total("arrivals"),
            total("departures"),
            total(*(name for name in names if name.startswith(("drops_", "marks_")))),
            total("delay_sum"),
        )

    @property
    def utilization(self) -> Floats:
        """The work that each link did over what it could have done; 0 where nothing was
        measured."""
        return _ratio(self.used, self.capacity, 0.0)

    @property
    def signal_ratio(self) -> Floats:
        """The share of arriving packets that were dropped or marked; NaN where none arrived."""
        return _ratio(self.signals, self.arrivals, np.nan)

    @property
    def delay(self) -> Floats:
        """Mean queueing delay, s; NaN where no packet left."""
        return _ratio(self.delay_sum, self.departures, np.nan)


def _ratio(of: Floats, over: Floats, without: float) -> Floats:
    return np.divide(of, over, out=np.full_like(of, without), where=over > 0)
