"""Rows of tables by the value of a column."""

from typing import Any

import pyarrow as pa


def rows_where(table: pa.Table, column: str, value: Any) -> pa.Table:
    """The rows of ``table`` with ``value`` in ``column``."""
    # Its functions are made when it is imported, which takes 45 ms; most commands choose no rows.
    import pyarrow.compute as pc

    return table.filter(pc.equal(table[column], value))
