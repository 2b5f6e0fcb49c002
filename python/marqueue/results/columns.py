"""Builds Arrow tables from the output of the engine.

Each column has its unit in the metadata of its field. Missing values are null: the end of a flow
that did not finish, or a probe that a link does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Raw = Mapping[str, Any]
Plan = Mapping[str, Any]
Array = np.ndarray[Any, np.dtype[Any]]
"""Without numpy.typing, whose import costs 5 ms."""


MANY_RUNS = 1000
"""Equal neighbours that are repeated one by one, before pyarrow.compute is worth its import of
50 ms."""


MOST_TEXT = 2**31 - 1
"""Bytes of text in one Arrow array, at most. A longer column is a chunked one: that of 100,000
links which are sampled a thousand times has 3 GB."""


def _names(names: Sequence[str], index: Array) -> pa.Array | pa.ChunkedArray:
    """The name of each index; masked ones are null."""
    edges = np.flatnonzero(np.diff(index)) + 1
    if not len(index) or len(edges) > MANY_RUNS or hasattr(index, "mask"):
        array, longest = pa.array(names, pa.string()), max(map(_bytes_of, names), default=1)
        step = max(1, MOST_TEXT // max(1, longest))
        parts = range(0, max(1, len(index)), step)
        return _joined(array.take(pa.array(index[i : i + step])) for i in parts)
    starts = np.concatenate([[0], edges])
    lengths = np.diff(np.concatenate([starts, [len(index)]]))
    runs = zip(index[starts].tolist(), lengths.tolist(), strict=True)
    return _repeated((names[i], n) for i, n in runs)


def _repeated(runs: Iterable[tuple[str, int]]) -> pa.Array | pa.ChunkedArray:
    """Texts, each repeated so many times."""
    return _joined(pa.repeat(pa.scalar(text, pa.string()), n) for text, n in runs)


def _joined(pieces: Iterable[pa.Array]) -> pa.Array | pa.ChunkedArray:
    """Texts one after the other, in as many arrays as they need."""
    chunks: list[pa.Array] = []
    waiting, size = [pa.array([], pa.string())], 0
    for piece in pieces:
        if size + piece.nbytes > MOST_TEXT:
            chunks.append(pa.concat_arrays(waiting))
            waiting, size = [], 0
        waiting.append(piece)
        size += piece.nbytes
    chunks.append(pa.concat_arrays(waiting))
    return pa.chunked_array(chunks) if len(chunks) > 1 else chunks[0]


def _bytes_of(text: str | None) -> int:
    return len((text or "").encode())


def numbers(values: Array, type_: pa.DataType, missing: Array | None = None) -> pa.Array:
    """Numbers or booleans as an Arrow array of this type; null where ``missing``.

    The same as ``pa.array``, which imports numpy.ma and pandas to recognise their arrays, and as a
    cast, which imports pyarrow.compute.
    """
    if missing is None or not missing.any():
        valid = None
    else:
        valid = _bits(~missing)
        values = np.where(missing, 0, values)
    if type_ == pa.bool_():
        content = _bits(values)
    else:
        content = pa.py_buffer(np.ascontiguousarray(values, dtype=type_.to_pandas_dtype()))
    return pa.Array.from_buffers(type_, len(values), [valid, content])


def texts(values: Sequence[str | None], index: Sequence[int] | None = None) -> pa.Array:
    """Texts as an Arrow array, each once or those with an index, in its order. The same as
    ``pa.array`` and ``take``, which import pandas and pyarrow.compute."""
    encoded = [b"" if value is None else value.encode() for value in values]
    lengths = np.array([len(each) for each in encoded], dtype=np.int64)
    missing = np.array([value is None for value in values], dtype=bool)
    if index is not None:
        encoded = [encoded[i] for i in index]
        lengths, missing = lengths[index], missing[index]
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    valid = _bits(~missing) if missing.any() else None
    content = [pa.py_buffer(edges), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), [valid, *content])


def _bits(values: Array) -> pa.Buffer:
    """Booleans as Arrow stores them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))


class Columns:
    """Builds a table, column by column."""

    def __init__(self) -> None:
        self.fields: list[pa.Field] = []
        self.arrays: list[pa.Array | pa.ChunkedArray] = []

    def add(self, name: str, type_: pa.DataType, unit: str, parts: Iterable[Any]) -> None:
        """Appends a column, the concatenation of ``parts``; NaN becomes null."""
        pieces = [np.asarray(p) for p in parts]
        values = np.concatenate(pieces) if pieces else np.empty(0)
        missing = np.isnan(values) if values.dtype.kind == "f" else None
        self.arrays.append(numbers(values, type_, missing))
        self.fields.append(pa.field(name, type_, metadata={"unit": unit}))

    def add_optional(self, name: str, type_: pa.DataType, unit: str, values: Array) -> None:
        """Appends a column of integers; negative ones become null."""
        self.arrays.append(numbers(values, type_, values < 0))
        self.fields.append(pa.field(name, type_, metadata={"unit": unit}))

    def add_text(self, name: str, parts: Iterable[tuple[str, int]]) -> None:
        """Appends a column of text from (text, number of repetitions)."""
        self.arrays.append(_repeated(parts))
        self.fields.append(pa.field(name, pa.string(), metadata={"unit": ""}))

    def add_names(self, name: str, names: Sequence[str], index: Array) -> None:
        """Appends a column of text from indices into ``names``; masked ones become null."""
        self.arrays.append(_names(names, index))
        self.fields.append(pa.field(name, pa.string(), metadata={"unit": ""}))

    def add_lists(
        self, name: str, type_: pa.DataType, unit: str, lengths: Array, values: Array
    ) -> None:
        """Appends a column of lists; ``lengths[i]`` of the ``values`` are in row i."""
        edges = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        # Parquet names the items of a list like this, so reading and writing keeps the bytes.
        kind = pa.large_list(pa.field("element", type_))
        column = pa.LargeListArray.from_arrays(
            numbers(edges, pa.int64()), numbers(values, type_), type=kind
        )
        self.arrays.append(column)
        self.fields.append(pa.field(name, column.type, metadata={"unit": unit}))

    def table(self) -> pa.Table:
        """The table."""
        return pa.Table.from_arrays(self.arrays, schema=pa.schema(self.fields))
