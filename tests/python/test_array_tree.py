"""Trees with arrays come back from a file as they were."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from marqueue.simulation.array_tree import read_tree, write_tree

TYPES = st.sampled_from(["<f8", "<u4", "<u8", "|u1", "|b1", "<U3"])
ARRAYS = TYPES.flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0))
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | ARRAYS
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=6), inner),
)


def written(tree: Any) -> io.BytesIO:
    file = io.BytesIO()
    file.write(b"what is before it\n")
    write_tree(file, tree)
    return file


def assert_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    match expected:
        case np.ndarray():
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.tobytes() == expected.tobytes()
        case dict():
            assert list(found) == list(expected)
            for key, value in expected.items():
                assert_equal(found[key], value)
        case list():
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert_equal(one, other)
        case _:
            assert found == expected


@given(TREES)
def test_what_is_written_is_read(tree: Any) -> None:
    assert_equal(read_tree(written(tree)), tree)


def test_a_large_network_has_few_entries() -> None:
    links = [
        {"t": np.arange(i, dtype="<f8"), "queue": np.arange(i, dtype="<u4")} for i in range(100)
    ]
    with zipfile.ZipFile(written({"links": links})) as archive:
        assert len(archive.namelist()) == 3


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        written({"what": np.array([object()])})
