"""What helps a newcomer: help, the reference of scenario keys, examples, tab completion."""

import json
import os
import re
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from conftest import EXAMPLES, called
from marqueue.cli import app
from marqueue.cli.commands import COMMANDS
from marqueue.papers import PAPERS
from marqueue.scenario import load, schema
from marqueue.scenario.parameters import aqms
from marqueue.scenario.qdisc import NAMES
from marqueue.scenario.reference import sections
from small_scenario import SMALL

ROOT = Path(__file__).parents[2]

SCRIPT = Path(sysconfig.get_path("scripts")) / "marqueue"
"""The command by the name that shells complete."""


def help_of(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def every_command() -> list[list[str]]:
    """All commands, those of groups too."""

    def below(group: TyperGroup, context: typer.Context, way: list[str]) -> list[list[str]]:
        found = []
        for name in group.list_commands(context):
            _, command, _ = group.resolve_command(context, [name])
            found.append([*way, name])
            if isinstance(command, TyperGroup):
                inner = typer.Context(command, parent=context, info_name=name)
                found += below(command, inner, [*way, name])
        return found

    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return below(root, typer.Context(root, info_name="marqueue"), [])


def test_help_begins_with_three_commands_that_run_one_after_the_other(marqueue):
    shown = [line.strip() for line in help_of().splitlines()]
    first = [line.split("  ")[0] for line in shown if line.startswith("marqueue ")]
    assert [line.split()[1] for line in first] == ["init", "run", "sweep"]
    assert list(COMMANDS)[:3] == ["init", "run", "sweep"]
    for line in first:
        words = line.split()[1:]
        quick = ["--set", "duration=11 s", "-r", "1"] if words[0] != "init" else []
        done = marqueue(*words, *quick)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_help_names_values_and_no_types_of_python(command: list[str]):
    """A value is called FILE, RATE or N; an argument has its name alone; a flag has none."""
    text = help_of(*command)
    assert not re.search(r"<[a-z][^>]*>|\b(BOOLEAN|INTEGER|FLOAT|TEXT|PATH) {2,}", text)
    assert not re.search(r"[{\[][a-z_]+[}\]](\.\.\.)?\s", text.split("Usage:")[1].split("\n")[0])


def test_help_of_a_command_is_that_of_the_command(marqueue):
    assert marqueue("help", "run").stdout == marqueue("run", "--help").stdout
    assert marqueue("help", "aqm", "show").stdout == marqueue("aqm", "show", "--help").stdout
    unknown = marqueue("help", "rnu")
    assert unknown.returncode == 2
    assert "run" in unknown.stderr


def test_the_page_of_scenario_keys_is_what_the_schema_says(marqueue):
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert marqueue("help", "--markdown").stdout == page, "run: make scenario-reference"


def keys_of(part: object) -> set[str]:
    """The names of all keys in a JSON Schema."""
    match part:
        case dict():
            own = part.get("properties")
            names = set(own) if isinstance(own, dict) else set()
            return names.union(*map(keys_of, part.values()))
        case list():
            return set().union(*map(keys_of, part))
    return set()


def test_the_reference_has_every_key_with_all_that_is_known_of_it():
    every = [key for section in sections() for key in section.keys]
    assert {key.name for key in every} == keys_of(schema())
    for key in every:
        assert key.type, key.name
        assert key.default, key.name
        assert key.meaning, key.name


def definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every table of the schema and every model that is chosen by name, with its title."""
    document = schema()
    for name, table in [("", document), *document["$defs"].items()]:
        for each in [each for each in table.get("oneOf", ()) if "properties" in each] or [table]:
            kind = each.get("properties", {}).get("kind", {}).get("const")
            yield kind or each.get("title", name), each


def test_every_example_of_the_reference_is_accepted_by_the_schema():
    examples = {
        (section.title.rpartition(": ")[2], key.name): key.example
        for section in sections()
        for key in section.keys
    }
    defined, tried = {"$defs": schema()["$defs"]}, 0
    for title, table in definitions():
        for name, value in table.get("properties", {}).items():
            line = tomllib.loads(examples.get((title, name), ""))
            if name in line and not examples[title, name].startswith("["):
                jsonschema.Draft202012Validator(defined | value).validate(line[name])
                tried += 1
    assert tried > 200


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("topology.bottleneck.rate", 'Example: rate = "10 Mbit/s"'),
        ("traffic.web.jitter", "Default: 1 s"),
        ("topology.hops.0.aqm.delay_ref", "QDELAY_REF"),
        ("buffer", "Units: packets, packet; B, kB, MB, GB, KiB, MiB, GiB"),
        ("cbr", "What each flow sends"),
        ("pie", "QDELAY_REF"),
        ("transport.default.min_rto", "Smallest retransmission timeout"),
        ("topology.bottleneck", "How a mark"),
        ("topology.bottleneck.aqm", "Names: droptail, red"),
        ("traffic", "UDP flows of constant rate"),
    ],
)
def test_a_key_is_explained_by_path_and_by_name(key: str, said: str):
    done = CliRunner().invoke(app, ["help", "scenario", key], env={"COLUMNS": "500"})
    assert done.exit_code == 0
    assert said in done.output


def test_a_key_that_is_not_there_is_answered_with_the_one_that_is_meant(marqueue):
    for key, said in (
        ("bufer", 'did you mean "buffer"'),
        ("traffic.web.bandwidth", 'did you mean "rate"'),
        ("nowhere.at.all", "nowhere.at has no such key"),
    ):
        done = marqueue("help", "scenario", key)
        assert done.returncode == 2
        assert said in done.stderr


def test_the_report_says_that_the_rate_of_cbr_is_that_of_a_flow(marqueue, tmp_path: Path):
    [star] = [path for path in EXAMPLES if path.stem == "star"]
    done = marqueue("run", star, "-r", "1", "--set", "duration=21 s", "-o", "out")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"rate \S+ [kM]bit/s per flow", page)


def test_examples_are_listed_copied_and_run(marqueue, tmp_path: Path):
    listed = marqueue("example", "list").stdout
    assert all(path.stem in listed for path in EXAMPLES)
    done = marqueue("example", "copy", "mm1", "here")
    assert done.returncode == 0, done.stderr
    copied = tmp_path / "here" / "mm1.toml"
    [original] = [path for path in EXAMPLES if path.stem == "mm1"]
    assert copied.read_bytes() == original.read_bytes()
    assert "did you mean" in marqueue("example", "copy", "incst").stderr


@pytest.mark.parametrize("command", [["init", "mine.toml"], ["example", "copy", "first"]])
def test_a_file_that_exists_is_not_overwritten_without_saying(command, marqueue, tmp_path: Path):
    name = "mine.toml" if "init" in command else "first.toml"
    (tmp_path / name).write_text("precious")
    done = marqueue(*command)
    assert done.returncode == 2
    assert f"{name}: exists, expected a new file" in done.stderr
    assert (tmp_path / name).read_text() == "precious"
    forced = marqueue(*command, "--force")
    assert forced.returncode == 0
    assert f"Replaced {name}" in forced.stderr
    assert load(tmp_path / name)


def test_init_writes_a_scenario_with_comments(marqueue, tmp_path: Path):
    done = marqueue("init", ".")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "scenario.toml").read_text(encoding="utf-8")
    assert text.count("#") > 20
    assert load(tmp_path / "scenario.toml")


def measured(marqueue, name: str, *overrides: str) -> dict[str, dict[str, dict[str, float]]]:
    """What an example measures with these replaced."""
    words = [word for each in overrides for word in ("--set", each)]
    [path] = [path for path in EXAMPLES if path.stem == name]
    done = marqueue("run", path, "--json", "--force", "-o", "out", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["measured"]


def test_the_access_link_shows_latency_under_load_by_aqm(marqueue):
    aqm = ("topology.bottleneck.aqm=fq_codel", "topology.reverse.aqm=fq_codel")
    full, short = measured(marqueue, "access-link"), measured(marqueue, "access-link", *aqm)
    for link in ("bottleneck", "reverse"):
        assert full["links"][link]["delay_p99"]["mean"] > 0.2
        assert short["links"][link]["delay_p99"]["mean"] < 0.05
        assert short["links"][link]["utilization"]["mean"] > 0.9
    assert full["flows"]["fct_median"]["mean"] > 2 * short["flows"]["fct_median"]["mean"]


def test_incast_collapses_without_and_not_with_ecn(marqueue):
    # Under RACK one flow in a hundred loses a retransmission too, and waits for a timeout: 26 of
    # 2400 flows, in 20 of 60 replications. Whether that moves a mean of ten 95th percentiles is
    # chance.
    figures = {"classic": "fct_p95", "rack": "fct_median", "ecn": "fct_p95", "dctcp": "fct_p95"}
    times = {}
    for transport, figure in figures.items():
        told = measured(marqueue, "incast", f"traffic.answers.transport={transport}")
        times[transport] = told["flows"][figure]["mean"]
        lost = told["links"]["bottleneck"]["loss_ratio"]["mean"]
        assert (lost > 0.1) == (transport in ("classic", "rack"))
    # A timeout of 200 ms, and what the wire needs: forty times 64 kB at 1 Gbit/s.
    assert times["classic"] > 0.2
    assert max(times[each] for each in ("rack", "ecn", "dctcp")) < 0.025


def completed(where: Path, *words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    done = subprocess.run(
        [SCRIPT],
        cwd=where,
        env={
            **os.environ,
            "_MARQUEUE_COMPLETE": "complete_bash",
            "COMP_WORDS": "\n".join(("marqueue", *words)),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sw"], {"sweep"}),
        (["aqm", "sh"], {"show"}),
        (["aqm", "show", "pi"], {"pi", "pi2", "pie"}),
        (["paper", "run", ""], set(PAPERS)),
        (["paper", "run", "avq", ""], set(PAPERS["avq"].experiments)),
        (["paper", "run", "chokew", "--readings", "ma"], {"main"}),
        (["example", "copy", "inc"], {"incast"}),
        (["help", "sce"], {"scenario"}),
        (["run", "sm"], {"small.toml", "smaller/"}),
        (["run", "small.toml", "--set", "traffic."], {"traffic.long.", "traffic.short."}),
        (["run", "small.toml", "--set", "dura"], {"duration=", "duration=60s"}),
        (["run", "small.toml", "--set", "topology.r"], {"topology.rtts=", "topology.reverse."}),
        (
            ["run", "small.toml", "--set", "topology.bottleneck.aqm.max"],
            {"topology.bottleneck.aqm.max_th=", "topology.bottleneck.aqm.max_p="},
        ),
        # bash cuts words at the sign, and replaces what is behind it.
        (
            ["run", "small.toml", "--set", "topology.bottleneck.signal", "="],
            {"drop", "ecn", "ecn-only"},
        ),
        (
            [
                "run",
                "small.toml",
                "--set",
                "seed",
                "=",
                "1",
                "--set",
                "topology.bottleneck.aqm",
                "=",
                "pi",
            ],
            {"pi", "pi2", "pie"},
        ),
        (
            ["sweep", "small.toml", "--over", "topology.bottleneck.aqm", "=", "red,pi"],
            {"red,pi", "red,pi2", "red,pie"},
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_tab_completes(words: list[str], offered: set[str], small_file: Path):
    (small_file.parent / "smaller").mkdir()
    (small_file.parent / "small.csv").touch()
    assert set(completed(small_file.parent, *words)) == offered


def test_every_aqm_is_offered_as_a_value(tmp_path: Path):
    (tmp_path / "s.toml").write_text(SMALL)
    words = ["run", "s.toml", "--set", "topology.bottleneck.aqm", "="]
    offered = set(completed(tmp_path, *words))
    assert offered == {*aqms(), *NAMES}


def test_completion_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = called(tmp_path, SCRIPT, "--show-completion", "bash")
    assert "_MARQUEUE_COMPLETE=complete_bash" in shown.stdout
    assert called(tmp_path, SCRIPT, "--install-completion", "bash").returncode == 0
    assert (tmp_path / ".bash_completions" / "marqueue.sh").read_text() == shown.stdout.rstrip()
