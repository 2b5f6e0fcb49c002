"""What people do to scenarios: whatever it is, it is either taken or answered with the place and
what was expected."""

import copy
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import EXAMPLES
from marqueue.errors import Problem, ScenarioError
from marqueue.scenario import Scenario, from_dict, from_toml, load

SHIPPED = [tomllib.loads(path.read_text(encoding="utf-8")) for path in EXAMPLES]

[DUMBBELL] = [path for path in EXAMPLES if path.stem == "dumbbell"]

Path = tuple[int | str, ...]


def places(value: object, here: Path = ()) -> list[Path]:
    """Every place in a scenario, the whole first."""
    match value:
        case dict():
            inner = [place for key, each in value.items() for place in places(each, (*here, key))]
        case list():
            inner = [place for i, each in enumerate(value) for place in places(each, (*here, i))]
        case _:
            inner = []
    return [here, *inner]


UNITS = ["ns", "us", "ms", "s", "min", "h", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B", "kB", "MB"]
UNITS += ["KiB", "MiB", "packets", "packet", "/s", "1/s", "Hz", "", "m", "Mb"]

quantities = st.builds(
    "{}{}{}".format,
    st.one_of(
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False),
        st.sampled_from(["1e999999999", "1e-99999999999999999999", "0", "-0", "1e18", "٣", "nan"]),
    ),
    st.sampled_from([" ", "", "  "]),
    st.sampled_from(UNITS),
)
words = st.sampled_from(
    ["auto", "droptail", "avq_inner", "red", "tcp", "cbr", "packets", "poisson", "dumbbell"]
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.text(max_size=8),
    words,
    quantities,
)
keys = st.one_of(st.text(max_size=5), st.sampled_from(["name", "kind", "at", "rate", "inner"]))
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """A shipped scenario with some values replaced, keys added, renamed and taken away."""
    data = copy.deepcopy(draw(st.sampled_from(SHIPPED)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.sampled_from(places(data)))
        if not place:
            continue
        *way, last = place
        parent: Any = data
        for step in way:
            parent = parent[step]
        match draw(st.sampled_from(["replace", "delete", "add", "double"])):
            case "replace":
                parent[last] = draw(values)
            case "delete":
                del parent[last]
            case "add" if isinstance(parent, dict):
                parent[draw(keys)] = draw(values)
            case _ if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[last]))
    return data


def answer(read: Callable[[], Scenario]) -> Scenario | tuple[Problem, ...]:
    """A scenario, or what is wrong with it."""
    try:
        return read()
    except ScenarioError as error:
        return error.problems


def check_answer(data: Any) -> None:
    """Either a scenario, or problems that say where and what."""
    said = answer(lambda: from_dict(data))
    if isinstance(said, Scenario):
        # What has been read can be written, and is read again as the same.
        assert from_toml(said.to_toml()) == said
    else:
        nowhere = not isinstance(data, dict) or "" in data
        assert said
        assert all(problem.message and (problem.path or nowhere) for problem in said)


@given(broken())
def test_a_broken_scenario_is_answered(data: Any) -> None:
    check_answer(data)


@given(values)
def test_anything_at_all_is_answered(data: Any) -> None:
    check_answer(data)


@given(st.one_of(st.binary(), st.text().map(str.encode)))
@example(b"count = 1" + b"0" * 5000)
@example(b"x = " + b"[" * 5000)
@example(b"x = " + b"{a=" * 5000)
@example(b"seed = 0x1" + b"0" * 5000)
@example(b"a." * 5000 + b"a = 1")
@example(b"name = '\xff'")
@example(b"a\x00b")
def test_any_file_is_answered(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=r"any\.toml"):
        load(path)


@given(
    st.sampled_from(EXAMPLES),
    st.one_of(
        st.text(max_size=30),
        st.builds(
            "{}={}".format,
            st.sampled_from(
                ["duration", "traffic.0.count", "topology.bottleneck.aqm", "transport"]
            ),
            st.one_of(quantities, st.text(max_size=20), st.just("1" + "0" * 5000)),
        ),
    ),
)
@example(EXAMPLES[0], "name=" + "[" * 5000)
def test_any_override_is_answered(path: Any, override: str) -> None:
    assert answer(lambda: load(path, [override]))


def test_a_key_that_is_called_like_its_table_is_found() -> None:
    with pytest.raises(ScenarioError) as refused:
        load(DUMBBELL, ["traffic.0.tcp=1"])
    assert [problem.path for problem in refused.value.problems] == ["traffic.long.tcp"]


def test_a_key_called_kind_where_there_is_none_is_answered() -> None:
    change = 'topology.bottleneck.schedule=[{ kind = "at", rate = "1 Mbit/s" }]'
    with pytest.raises(ScenarioError) as refused:
        load(EXAMPLES[0], [change])
    paths = [problem.path for problem in refused.value.problems]
    assert paths == [f"{change.partition('=')[0]}.0.{key}" for key in ("at", "kind")]
