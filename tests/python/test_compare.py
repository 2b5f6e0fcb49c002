"""Two results side by side."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from marqueue import Result, from_dict, run
from marqueue.cli import app
from marqueue.errors import ResultError, differing_values
from marqueue.reports import comparison_report as report_of_comparison
from marqueue.reports.comparison_report import comparison_charts, comparison_report
from marqueue.results import comparison
from marqueue.results.comparison import Comparison, Difference, compare
from marqueue.results.congested_links import congested_links
from marqueue.statistics.estimates import Estimate
from sample_runs import SCENARIO, sample_run


def changed(**bottleneck: object) -> Result:
    topology = SCENARIO["topology"]
    return sample_run.__wrapped__(
        topology={**topology, "bottleneck": {**topology["bottleneck"], **bottleneck}}
    )


@pytest.fixture(scope="module")
def paired() -> Comparison:
    return compare(sample_run(), changed(buffer="20 packets"))


@pytest.fixture(scope="module")
def two(paired: Comparison, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("results")
    return paired.a.save(directory / "a"), paired.b.save(directory / "b")


def by_name(comparison: Comparison) -> dict[str, Difference]:
    return {each.figure.name: each for each in comparison.differences}


def test_pairs_are_the_differences_of_replications(paired: Comparison) -> None:
    assert paired.paired
    a, b = (each.link().values("queue_mean") for each in (paired.a, paired.b))
    assert by_name(paired)["queue_mean"].difference == Estimate.of(b - a)


def test_a_mean_difference_is_the_difference_of_the_means(paired: Comparison) -> None:
    """That of ratios too, which weigh replications by their denominators."""
    for each in paired.differences:
        expected = each.b.mean - each.a.mean
        assert each.difference.mean == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_ratio_is_compared_as_its_terms_are(paired: Comparison) -> None:
    """Where every denominator is the same, a ratio is a mean: the capacity is."""
    a, b = (each.link().values("utilization") for each in (paired.a, paired.b))
    expected = Estimate.of(b - a)
    found = by_name(paired)["utilization"].difference
    assert found.mean == pytest.approx(expected.mean)
    assert found.half_width == pytest.approx(expected.half_width)


def test_groups_of_flows_are_compared_as_links_are(paired: Comparison) -> None:
    group = paired.by_group()["short"]
    [found] = [each for each in group if each.figure.name == "fct_mean"]
    a, b = (each.traffic(group="short")["fct_mean"] for each in (paired.a, paired.b))
    assert (found.a, found.b) == (a, b)
    assert found.difference.mean == pytest.approx(b.mean - a.mean)


def test_a_result_does_not_differ_from_itself() -> None:
    same = compare(sample_run(), sample_run())
    assert not same.settings
    assert all(each.difference.mean == 0 for each in same.differences)
    assert not any(each.excludes_zero for each in same.differences)


def test_settings_that_differ_are_listed_by_their_paths() -> None:
    comparison = compare(sample_run(), changed(aqm={"name": "pi"}, buffer="20 packets"))
    listed = {s.path: (s.a, s.b) for s in comparison.settings}
    assert listed == {
        "topology.bottleneck.buffer": ('"25 packets"', '"20 packets"'),
        "topology.bottleneck.aqm.name": ('"red"', '"pi"'),
    }


def test_a_list_with_very_many_settings_that_differ_is_one() -> None:
    links = [{"name": f"l{i}", "rate": 1} for i in range(40)]
    others = [{**each, "rate": 2} for each in links]
    a = {"seed": 1, "topology": {"links": links, "classes": [{"name": "c"}]}}
    b = {"seed": 2, "topology": {"links": others, "classes": [{"name": "d"}]}}
    rest = [("seed", "1", "2"), ("topology.classes.0.name", '"c"', '"d"')]
    every = [(f"topology.links.{i}.rate", "1", "2") for i in range(40)]
    assert differing_values(a, b) == [rest[0], *every, rest[1]]
    assert differing_values(a, b, 42) == differing_values(a, b)
    whole = ("topology.links (40 values)", "40 entries", "40 entries")
    assert differing_values(a, b, 39) == [rest[0], whole, rest[1]]
    without = {"seed": 2, "topology": {"classes": [{"name": "d"}]}}
    whole = ("topology.links (80 values)", "40 entries", "–")
    assert differing_values(a, without, 39) == [rest[0], whole, rest[1]]


def test_a_smaller_buffer_loses_more() -> None:
    loss = by_name(compare(sample_run(), changed(buffer="8 packets")))["loss_ratio"]
    assert loss.excludes_zero
    assert loss.difference.mean > 0


def test_without_common_seeds_intervals_are_welchs() -> None:
    comparison = compare(sample_run(), sample_run(seed=2, replications=4))
    assert not comparison.paired
    assert comparison.method.startswith("No pairs (seed 1 with 3 replications, seed 2 with 4 ")
    a, b = (each.link().values("queue_mean") for each in (comparison.a, comparison.b))
    low, high = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert by_name(comparison)["queue_mean"].difference.interval == pytest.approx((low, high))


@pytest.mark.parametrize("replications", [1, 4])
def test_one_replication_has_no_intervals_and_is_said_to_have_none(replications: int) -> None:
    one = sample_run(replications=1)
    comparison = compare(one, sample_run(seed=2, replications=replications))
    number = f"{replications} replication{'s' * (replications > 1)}"
    assert comparison.method == (
        f"No pairs (seed 1 with 1 replication, seed 2 with {number}), and one replication alone: "
        "no intervals."
    )
    assert not any(each.difference.interval for each in comparison.differences)
    assert not any("confidence" in each for each in comparison.remarks())


def test_common_random_numbers_pay() -> None:
    """A sure shift under common noise: pairs see it, independent samples do not."""
    noise = np.array([0.0, 10.0, 20.0, 30.0])
    other = noise + np.array([1.0, 1.1, 0.9, 1.0])
    pairs, independent = Estimate.of(other - noise), Estimate.welch(noise, other)
    assert pairs.mean == pytest.approx(independent.mean)
    assert pairs.half_width is not None
    assert independent.half_width is not None
    assert 50 * pairs.half_width < independent.half_width


def test_the_figures_that_are_named_are_compared(paired: Comparison) -> None:
    wanted = ["jain", "20 ms.goodput", "delay_p99"]
    found = compare(paired.a, paired.b, wanted)
    listed = [(str(each.subject), each.figure.name) for each in found.differences]
    assert listed == [
        ("all flows", "jain"),
        ("class 20 ms", "goodput"),
        ("link bottleneck", "delay_p99"),
    ]
    a, b = (each.traffic()["jain"] for each in (paired.a, paired.b))
    assert (found.differences[0].a, found.differences[0].b) == (a, b)
    assert set(found.as_dict()["flows"]) == {"jain"}
    assert set(found.as_dict()["classes"]["20 ms"]) == {"goodput"}


class TestCommand:
    def test_takes_figures_of_flows(self, marqueue, two: tuple[Path, Path], tmp_path: Path) -> None:
        figures = ["--figure", "jain", "--figure", "20 ms.goodput"]
        done = marqueue("compare", *two, *figures, "--out", "page.html")
        assert done.returncode == 0, done.stderr
        assert "Jain's index" in done.stdout
        assert "Utilization" not in done.stdout
        assert "Flows: class 20 ms" in (tmp_path / "page.html").read_text()

    def test_a_figure_that_is_not_there_is_answered_with_those_that_are(
        self, marqueue, two: tuple[Path, Path]
    ) -> None:
        done = marqueue("compare", *two, "--figure", "long.utilization")
        assert done.returncode == 2
        assert done.stderr == 'figure: link: got "long", expected one of bottleneck\n'

    def test_prints_and_writes(self, marqueue, two: tuple[Path, Path], tmp_path: Path) -> None:
        done = marqueue("compare", *two, "--out", "page.html")
        assert done.returncode == 0, done.stderr
        for said in ("topology.bottleneck.buffer", "Utilization", "±", "3 pairs of replications"):
            assert said in done.stdout
        assert done.stdout.startswith(f"A: {two[0]} (")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "topology.bottleneck.buffer" in page
        assert "Excludes zero" in page
        assert f"B: {two[1]} (" in page
        again = marqueue("compare", *two, "--out", "page.html")
        assert again.returncode == 2
        assert again.stderr == "page.html: exists, expected a new file; --force replaces it\n"

    def test_a_report_whose_name_is_not_that_of_a_page_is_refused(
        self, marqueue, two: tuple[Path, Path], tmp_path: Path
    ) -> None:
        done = marqueue("compare", *two, "--out", "page")
        assert done.returncode == 2
        assert done.stderr == "page: expected a name that ends in .html\n"
        assert not (tmp_path / "page").exists()

    def test_json(self, marqueue, two: tuple[Path, Path], paired: Comparison) -> None:
        done = marqueue("compare", *two, "--json")
        assert json.loads(done.stdout) == json.loads(json.dumps(paired.as_dict()))

    def test_what_is_no_result_is_a_message(self, marqueue, two: tuple[Path, Path]) -> None:
        done = marqueue("compare", two[0], "nowhere")
        assert done.returncode == 2
        assert done.stderr.startswith("nowhere: not a result, expected a directory")


@pytest.fixture(scope="module")
def chains() -> tuple[Result, Result]:
    """Two parking lots with 14 links that have queues. Their busy links differ."""

    def chain(busy: Sequence[int]) -> Result:
        hops = [{"rate": f"{2 if i in busy else 8} Mbit/s", "delay": "2 ms"} for i in range(14)]
        topology = {
            "kind": "parking-lot",
            "hops": [{**each, "buffer": "20 packets", "aqm": "droptail"} for each in hops],
        }
        traffic = [{"name": "flows", "kind": "tcp", "count": 4}]
        scenario = {"name": "chain", "duration": "4 s", "warmup": "1 s", "replications": 1}
        return run(from_dict({**scenario, "topology": topology, "traffic": traffic}))

    return chain([2, 9]), chain([5, 12])


def test_of_many_links_the_most_congested_of_either_are_compared(
    chains: tuple[Result, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare(*chains)
    assert list(whole.by_link()) == chains[0].links
    assert not any("left out" in each for each in whole.remarks())
    monkeypatch.setattr(comparison, "MOST_LISTED", 2)
    few = compare(*chains)
    expected = {*congested_links(chains[0], 2), *congested_links(chains[1], 2)}
    assert few.by_link() == {k: v for k, v in whole.by_link().items() if k in expected}
    assert few.by_group() == whole.by_group()
    assert few.remarks()[0].startswith(f"{14 - len(expected)} links are left out: compared are")
    # A figure that is named is compared of any link.
    [named] = compare(*chains, ["hop 7.utilization"]).differences
    assert (named.subject.name, compare(*chains, ["utilization"]).left_out) == ("hop 7", 0)


def test_a_report_without_intervals_says_so_and_names_its_links(
    chains: tuple[Result, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare(*chains)
    page = comparison_report(whole).render()
    assert "Without intervals, a difference cannot be told from chance." in page
    busiest = max(whole.by_link().items(), key=lambda of: of[1][0].b.mean)[0]
    assert f"{busiest}: Utilization, B" in page
    monkeypatch.setattr(report_of_comparison, "MOST_LINKS_DRAWN", 3)
    [links] = [each for each in comparison_charts(whole)[1] if each.tag == "link"]
    drawn = [congested_links(each, 3) for each in chains]
    assert links.values == [name for name in drawn[0] if name in drawn[1]]


def test_of_many_links_few_are_printed(chains: tuple[Result, Result], tmp_path: Path) -> None:
    places = [str(each.save(tmp_path / name)) for each, name in zip(chains, "ab", strict=True)]
    shown = {*congested_links(chains[0], 5), *congested_links(chains[1], 5)}

    def printed(*arguments: str) -> str:
        return CliRunner().invoke(app, ["compare", *places, *arguments]).stdout

    few = printed()
    for name in chains[0].links:
        assert (re.search(rf"^{name} ", few, re.MULTILINE) is not None) == (name in shown)
    assert f"have {14 - len(shown)} more." in few.replace("\n", " ")
    assert len(json.loads(printed("--json"))["links"]) == 14
    assert printed("--figure", "utilization").count("excludes zero") == 14


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("plan.json", None, "plan.json: missing"),
        ("plan.json", b"{}", "plan.json: damaged"),
        ("provenance.json", b"{", "provenance.json: damaged"),
        ("provenance.json", None, "not a result"),
        ("scenario.toml", b"", "scenario.toml: damaged"),
        ("summary.json", b"\xff", "summary.json: damaged"),
        ("windows.parquet", None, "windows.parquet: missing"),
        ("windows.parquet", b"PAR1", "windows.parquet: damaged"),
        ("series.parquet", "flows.parquet", "series.parquet: damaged"),
    ],
)
def test_a_result_that_is_broken_is_told_apart(
    tmp_path: Path, file: str, content: bytes | str | None, said: str
):
    broken = sample_run().save(tmp_path / "broken")
    if content is None:
        (broken / file).unlink()
    elif isinstance(content, str):
        (broken / file).write_bytes((broken / content).read_bytes())
    else:
        (broken / file).write_bytes(content)
    done = CliRunner().invoke(app, ["compare", str(broken), str(broken)])
    assert isinstance(done.exception, ResultError), done.exception
    assert str(broken) in str(done.exception)
    assert said in str(done.exception)
