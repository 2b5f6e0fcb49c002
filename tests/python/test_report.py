import base64
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from marqueue import Result
from marqueue.plots import cdf, svg
from marqueue.reports import Report, Verdict, report, write_report
from marqueue.results import LINK_FIGURES
from marqueue.statistics.estimates import Estimate
from sample_runs import sample_run

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """What a reader finds in a page: ids, references, and the rows of all tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.rows: list[list[str]] = []
        self.scripts: set[str] = set()
        self.policies: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "srcset", "data", "action", "poster"):
                self.references.append(value or "")
            if tag == "script":
                self.scripts.add(name)
        if tag == "meta" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policies.append(dict(attrs)["content"] or "")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def result() -> Result:
    return sample_run()


@pytest.fixture(scope="module")
def html(result: Result) -> str:
    return report(result).render()


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


class TestOfAResult:
    def test_needs_nothing_from_outside(self, html: str, page: Page) -> None:
        # No script has a source; the policy of the page allows the one in it by its digest.
        assert "src" not in page.scripts
        [policy] = page.policies
        assert policy.startswith("default-src 'none'")
        inline = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
        allowed = [base64.b64encode(sha256(each.encode()).digest()).decode() for each in inline]
        assert re.findall(r"script-src (.*)", policy) == [f"'sha256-{each}'" for each in allowed]
        assert all(r.startswith("#") for r in page.references)
        assert {r[1:] for r in page.references} <= set(page.ids)
        # The name of the format of an SVG file is no reference.
        without = html.replace("http://www.w3.org/2000/svg", "")
        for outside in ("http:", "https:", "@import", "url(//", "file:"):
            assert outside not in without

    def test_shows_the_figures_of_the_summary(self, result: Result, page: Page) -> None:
        for f in LINK_FIGURES:
            values = result.summary()["measured"]["links"]["bottleneck"][f.name]
            shown = str(Estimate(**values).scaled(f.scale))
            assert [f.title, shown] in page.rows

    def test_shows_every_window(self, result: Result, page: Page) -> None:
        assert ["", "3 to 8 s", "8 to 12 s"] in page.rows
        windows = [result.link().figures(w)["queue_mean"] for w in (1, 2)]
        assert ["Queue, mean [packets]", *map(str, windows)] in page.rows

    def test_shows_every_setting_in_force(self, result: Result, page: Page) -> None:
        from marqueue.scenario.parameters import aqms, tcp_declarations

        rows = {row[0]: row for row in page.rows if len(row) == 4}
        for spec in (*aqms()["red"].params, *tcp_declarations()):
            assert spec.name in rows
        assert rows["ecn"][1:3] == ["yes", "scenario"]
        assert rows["min_rto"][1:3] == ["200 ms", "preset ns2"]

    def test_says_what_must_be_known(self, result: Result, page: Page) -> None:
        text = " ".join(page.text.split())
        for warning in result.summary()["warnings"]:
            assert warning in text
        assert "warm-up of 3 s; 3 replications" in text
        assert result.provenance.scenario_hash in text
        assert "marqueue run scenario.toml" in text

    def test_is_a_function_of_the_result(self, result: Result, html: str, tmp_path: Path) -> None:
        path = write_report(result, tmp_path / "r.html")
        assert path.read_text(encoding="utf-8") == html

    def test_the_scenario_in_it_is_the_one_that_ran(self, result: Result, page: Page) -> None:
        from marqueue.scenario import from_toml

        begin = page.text.index('name = "Two classes & <short> flows"')
        end = page.text.index("\n\n\n", begin) if "\n\n\n" in page.text[begin:] else None
        toml = page.text[begin:end].split("\nVersion")[0]
        assert from_toml(toml).to_dict() == result.scenario

    @pytest.mark.parametrize(
        "changes",
        [
            {"replications": 1},
            {"warmup": "0 s", "cuts": ["6 s"]},
            {"sample": "0 s"},
        ],
        ids=["one replication", "no warm-up", "no series"],
    )
    def test_less_gives_a_report_too(self, changes: dict[str, object]) -> None:
        run = sample_run.__wrapped__(**changes)
        assert "Utilization" in Page(report(run).render()).text


class TestBuilder:
    def test_text_is_never_read_as_html(self) -> None:
        evil = '<script>alert("x")</script>&'
        figure = svg(cdf({"a": [1, 2]}, "x"))
        made = (
            Report(evil, evil, evil)
            .section(evil)
            .text(evil)
            .notes([evil], evil)
            .facts({evil: evil})
            .table([evil], [[evil]], evil)
            .figure(figure, evil)
            .verdicts([Verdict(evil, evil, evil, evil, "holds", evil)], evil)
            .code(evil, evil, folded=True)
            .highlights([(evil, evil, evil)])
        )
        page = Page(made.render())
        assert "script" not in page.tags
        assert page.text.count(evil) >= 18

    def test_verdicts_say_what_was_claimed_and_what_was_found(self) -> None:
        claim = Verdict(
            "RED is poor",
            "p. 7",
            "below 0.9",
            Estimate(1.0, 0.001, 3),
            "fails",
            "Queue near limit.",
        )
        page = Page(Report("Paper").section("Claims").verdicts([claim]).render())
        assert page.rows[-1] == [
            "RED is poorQueue near limit.",
            "p. 7",
            "below 0.9",
            "1.0000 ± 0.0010",
            "does not hold",
        ]

    def test_sections_of_one_name_have_anchors_of_their_own(self) -> None:
        page = Page(
            Report("R").section("Queue").section("Queue").section("Loss").section("!").render()
        )
        assert len(set(page.ids)) == len(page.ids) == 4
        assert {r[1:] for r in page.references} == set(page.ids)

    def test_a_row_that_does_not_fit_is_refused(self) -> None:
        with pytest.raises(ValueError, match="2 cells for 1 columns"):
            Report("R").table(["a"], [[1, 2]])

    def test_numbers_and_estimates_are_shown_alike(self) -> None:
        rows = [["a", 0.25], ["b", Estimate(0.5, 0.02, 3)], ["c", None]]
        page = Page(Report("R").table(["", "x"], rows).render())
        assert page.rows[1:] == [["a", "0.2500"], ["b", "0.50 ± 0.02"], ["c", "–"]]


def test_what_was_asked_is_in_words() -> None:
    # What Python calls it is no value that a scenario file takes.
    page = report(sample_run()).render()
    text = re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "sample_cwnd no" in text
    assert not re.search(r"\b(True|False|None)\b", text)
