"""Whatever scenario is accepted runs to its end, and its result can be summed up and saved."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marqueue.errors import ScenarioError
from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict, with_overrides
from marqueue.scenario.parameters import (
    Declaration,
    aqms,
    media_controls,
    tcp_declarations,
    tcp_presets,
)
from marqueue.simulation.run import run

Table = dict[str, Any]


def number(spec: Declaration) -> st.SearchStrategy[Any]:
    """Anything in the declared range: often a bound, otherwise of any order of magnitude."""
    low, high = spec.min or 0.0, spec.max or 0.0
    least = max(low, high * 1e-12)
    between = st.floats(0, 1).map(lambda share: min(high, least * (high / least) ** share))
    whole = spec.unit == "packets"
    number = st.one_of(st.just(low), st.just(high), st.floats(low, high), between)
    return number.map(lambda x: spec.write(float(round(x)) if whole else x))


def value(spec: Declaration, depth: int) -> st.SearchStrategy[Any]:
    """Any value that a declaration allows."""
    match spec.kind:
        case "flag":
            return st.booleans()
        case "choice":
            return st.sampled_from(spec.choices or [])
        case "policy":
            return aqm(depth - 1)
        case "dscp":
            return st.sampled_from(["AF11", "AF13", "EF", 0, 63])
        case "curve":
            return st.sampled_from(["red:2:10:0.2", "exp:10:0.2", "points:0,0;1,1"])
    return number(spec)


def some(specs: tuple[Declaration, ...], depth: int = 0) -> st.SearchStrategy[Table]:
    """Values for some of the parameters declared."""
    optional = {spec.name: value(spec, depth) for spec in specs if spec.kind != "policy" or depth}
    return st.fixed_dictionaries({}, optional=optional)


def aqm(depth: int = 1) -> st.SearchStrategy[Table]:
    """Any AQM with any parameters in their ranges."""
    return st.sampled_from(list(aqms().values())).flatmap(
        lambda entry: some(entry.params, depth).map(lambda given: {"name": entry.name, **given})
    )


def times(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map("{} us".format)


DURATION = 300_000
"""In microseconds: a moment on any machine."""

rates = st.integers(100_000, 50_000_000).map("{} bit/s".format)
delays = times(0, 20_000)
buffers = st.one_of(
    st.integers(1, 200).map("{} packets".format), st.integers(1, 200_000).map("{} B".format)
)
schedules = st.lists(st.integers(1, DURATION - 1), max_size=2, unique=True).flatmap(
    lambda at: st.tuples(*(rates for _ in at)).map(
        lambda to: [{"at": f"{t} us", "rate": rate} for t, rate in zip(sorted(at), to, strict=True)]
    )
)
link: dict[str, st.SearchStrategy[Any]] = {
    "aqm": aqm(),
    "signal": st.sampled_from(["drop", "ecn", "ecn-only"]),
    "packet": st.integers(1, 3000).map("{} B".format),
    "schedule": schedules,
    "trace": st.booleans(),
}
densities = st.floats(0, 20).map("{:.3f} cycles/bit".format)
processing = st.one_of(
    densities,
    st.fixed_dictionaries(
        {},
        optional={
            "per_bit": densities,
            "per_packet": st.integers(0, 10_000).map("{} cycles".format),
            "declared": densities,
        },
    ),
)
cpus = st.fixed_dictionaries(
    {"clock": st.integers(10_000, 10**9).map("{} cycles/s".format), "buffer": buffers},
    optional={
        "cores": st.integers(1, 4),
        "aqm": aqm(),
        "signal": link["signal"],
        "learning": st.floats(1e-6, 0.9),
    },
)
link["cpu"] = cpus
queues = st.fixed_dictionaries({"rate": rates, "delay": delays, "buffer": buffers}, optional=link)
round_trips = times(100_000, 200_000)
accesses = st.fixed_dictionaries({}, optional={"rate": rates, "delay": delays})


@st.composite
def graphs(draw: st.DrawFn) -> Table:
    """A ring of nodes with both directions, and chords."""
    nodes = [f"node {i}" for i in range(draw(st.integers(2, 4)))]
    ends = [(a, b) for a in nodes for b in nodes if a != b]
    ring = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    chords = draw(st.lists(st.sampled_from(ends), max_size=3))
    wire = st.fixed_dictionaries({"rate": rates, "delay": delays}, optional={"schedule": schedules})
    links = [
        draw(st.one_of(queues, wire)) | {"name": f"link {i}", "from": a, "to": b}
        for i, (a, b) in enumerate([*ring, *chords])
    ]
    ways = draw(st.lists(st.sampled_from(ends), min_size=1, max_size=3))
    classes = [{"name": f"class {i}", "from": a, "to": b} for i, (a, b) in enumerate(ways)]
    return {"kind": "graph", "links": links, "classes": classes}


topologies = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("dumbbell"),
            "rtts": st.lists(round_trips, min_size=1, max_size=3, unique=True),
            "bottleneck": queues,
        },
        optional={"access": accesses, "reverse": queues},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("star"),
            "classes": st.lists(
                st.fixed_dictionaries(
                    {"name": st.sampled_from("abc"), "rtt": round_trips}, optional={"access": rates}
                ),
                min_size=1,
                max_size=3,
                unique_by=lambda each: each["name"],
            ),
            "bottleneck": queues,
        },
        optional={"reverse": queues},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("parking-lot"), "hops": st.lists(queues, min_size=1, max_size=3)},
        optional={"access": accesses},
    ),
    graphs(),
)

packets = st.integers(1, 65_535).map("{} B".format)
when: dict[str, st.SearchStrategy[Any]] = {
    "start": times(0, DURATION - 1),
    "stop": times(DURATION, 2 * DURATION),
    "name": st.text("ab c", min_size=1, max_size=3),
    "processing": processing,
}
crowd: dict[str, st.SearchStrategy[Any]] = {
    "count": st.integers(1, 20),
    "jitter": times(0, DURATION),
}
controls = st.one_of(
    some(entry.params).map(lambda given, name=entry.name: {"name": name, **given})
    for entry in media_controls().values()
)
media = st.fixed_dictionaries(
    {"kind": st.just("media"), "max_rate": rates, "min_rate": st.just("1 kbit/s")},
    optional=when
    | crowd
    | {
        "control": controls,
        "frame_rate": st.integers(1, 1000).map("{} /s".format),
        "key_frames": times(1_000_000, 2_000_000),
        "ecn": st.sampled_from(["not-ect", "ect", "ect1"]),
        "packet": st.integers(100, 1500).map("{} B".format),
        "trace": st.booleans(),
    },
)
traffic = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("tcp")},
        optional=when
        | crowd
        | {"size": st.integers(1, 100).map("{} packets".format), "trace": st.booleans()},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("poisson"),
            "rate": st.integers(1, 300).map("{} /s".format),
            "size": st.integers(1, 50).map("{} packets".format),
        },
        optional=when,
    ),
    st.fixed_dictionaries(
        {"kind": st.just("cbr"), "rate": rates, "packet": packets}, optional=when | crowd
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("packets"),
            "rate": st.integers(1, 20_000).map("{} /s".format),
            "packet": packets,
        },
        optional=when | {"sizes": st.sampled_from(["constant", "exponential"])},
    ),
    media,
)
transports = some(tcp_declarations()).flatmap(
    lambda given: st.sampled_from(list(tcp_presets())).map(lambda p: {"preset": p, **given})
)
scenarios = st.fixed_dictionaries(
    {
        "name": st.just("any"),
        "duration": st.just(f"{DURATION} us"),
        "topology": topologies,
        "traffic": st.lists(traffic, min_size=1, max_size=4),
        "transport": st.fixed_dictionaries({"default": transports}),
        "replications": st.just(2),
    },
    optional={
        "warmup": times(0, DURATION // 2),
        "cuts": st.just([f"{DURATION * 2 // 3} us"]),
        "sample": times(1_000, 2 * DURATION),
        "seed": st.integers(0, 2**63 - 1),
    },
)


def result_of(data: Table) -> Result | None:
    try:
        scenario = from_dict(data)
    except ScenarioError:
        return None  # Parameters may contradict each other.
    return run(scenario, jobs=1)


PATIENT = settings(max_examples=40, suppress_health_check=list(HealthCheck))


@PATIENT
@given(scenarios)
def test_what_is_accepted_runs_and_can_be_summed_up(data: Table) -> None:
    result = result_of(data)
    if result is not None:
        json.dumps(result.summary(), allow_nan=False)
        assert result.table().rows


@settings(PATIENT, max_examples=4)
@given(scenarios)
def test_its_result_can_be_saved_and_read(
    tmp_path_factory: pytest.TempPathFactory, data: Table
) -> None:
    result = result_of(data)
    if result is not None:
        directory: Path = tmp_path_factory.mktemp("any") / "result"
        result.save(directory)
        assert Result.load(directory).summary() == result.summary()


def test_a_queue_that_no_packet_reaches_has_no_histogram(small: Scenario) -> None:
    """Found by the property above."""
    late = with_overrides(small, ["traffic.short.rate=1e-9 /s", "traffic.long.start=3999 ms"])
    figures = run(late, jobs=1).link("bottleneck").figures()
    assert figures["utilization"].mean == 0
