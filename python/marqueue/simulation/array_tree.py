"""Stores a tree of dicts and lists with numpy arrays in it, such as the output of the engine.

The file is a numpy archive: the tree as JSON, and for each type of arrays one array with the values
of all of them. A network of 100,000 links has a million arrays, and an entry of the archive for
each took longer to write than the run.
"""

from __future__ import annotations

import json
from math import prod
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

TREE = "tree"
ARRAY = "array"
"""The only key of what stands for an array in the tree: its type, where its values begin among
those of the type, and its shape."""


def write_tree(file: IO[bytes], tree: Any) -> None:
    """Writes a tree at the end of a file. Raises ValueError for arrays of objects."""
    arrays: dict[str, list[Array]] = {}
    lengths: dict[str, int] = {}

    def stored(value: Any) -> Any:
        match value:
            case np.ndarray():
                kind = value.dtype.str
                begin = lengths.get(kind, 0)
                arrays.setdefault(kind, []).append(value.ravel())
                lengths[kind] = begin + value.size
                return {ARRAY: [kind, begin, *value.shape]}
            case dict():
                return {key: stored(each) for key, each in value.items()}
            case list() | tuple():
                return [stored(each) for each in value]
        return value

    text = json.dumps(stored(tree)).encode()
    joined = {kind: np.concatenate(parts) for kind, parts in arrays.items()}
    np.savez(file, allow_pickle=False, **{TREE: np.frombuffer(text, np.uint8)}, **joined)


def read_tree(file: IO[bytes]) -> Any:
    """Reads what :func:`write_tree` has written; tuples are lists."""
    with np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
        arrays = {kind: archive[kind] for kind in archive.files}
    text = arrays.pop(TREE).tobytes()

    def read(value: Any) -> Any:
        match value:
            case {"array": [str(kind), int(begin), *shape]} if len(value) == 1:
                return arrays[kind][begin : begin + prod(shape)].reshape(shape)
            case dict():
                return {key: read(each) for key, each in value.items()}
            case list():
                return [read(each) for each in value]
        return value

    return read(json.loads(text))
