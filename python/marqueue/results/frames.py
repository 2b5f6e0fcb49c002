"""Arrow tables as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from marqueue.extras import require

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """A table as a pandas data frame; ``attrs["units"]`` has the unit of each column that has one.

    Raises MissingExtra without pandas.
    """
    require("pandas", "A pandas data frame")
    frame: pd.DataFrame = table.to_pandas()
    frame.attrs["units"] = units(table)
    return frame


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """A table as a Polars data frame. Raises MissingExtra without Polars."""
    require("polars", "A Polars data frame")
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def units(table: pa.Table) -> dict[str, str]:
    """The unit of each column that has one."""
    metadata = ((field.name, (field.metadata or {}).get(b"unit", b"")) for field in table.schema)
    return {name: unit.decode() for name, unit in metadata if unit}
