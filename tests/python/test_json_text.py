"""JSON of results is indented, with arrays of numbers on one line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marqueue.json_text import dump_json

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
TREES = st.recursive(
    SCALARS | st.text(alphabet='ab"\\[]{},: \n'),
    lambda inner: st.lists(SCALARS) | st.lists(inner) | st.dictionaries(st.text(), inner),
)


def expected(value: Any, indent: str = "") -> str:
    deeper = indent + "  "
    match value:
        case list() if not any(isinstance(each, str | list | dict) for each in value):
            return f"[{', '.join(map(json.dumps, value))}]"
        case list():
            inner = [deeper + expected(each, deeper) for each in value]
            return "[\n" + ",\n".join(inner) + f"\n{indent}]"
        case dict() if value:
            entries = [(json.dumps(k, ensure_ascii=False), value[k]) for k in sorted(value)]
            inner = [f"{deeper}{key}: {expected(each, deeper)}" for key, each in entries]
            return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False)


@given(TREES)
def test_it_has_an_entry_a_line_and_numbers_on_one(tree: Any) -> None:
    text = dump_json(tree)
    assert text == f"{expected(tree)}\n"
    assert json.loads(text) == tree


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json([float("nan")])
