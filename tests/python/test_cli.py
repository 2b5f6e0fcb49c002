"""The command as people run it."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import marqueue as package
from conftest import EXAMPLES, interrupted
from small_scenario import SMALL


def test_a_run_prints_a_table_and_writes_a_result(marqueue, small_file: Path, tmp_path: Path):
    done = marqueue("run", small_file)
    assert done.returncode == 0, done.stderr
    assert "Utilization" in done.stdout
    assert "±" in done.stdout
    assert "results/small/report.html" in done.stdout
    written = {path.name for path in (tmp_path / "results/small").iterdir()}
    assert {
        "provenance.json",
        "summary.json",
        "series.parquet",
        "flows.parquet",
        "report.html",
    } <= written
    loaded = package.Result.load(tmp_path / "results/small")
    assert loaded.summary() == json.loads((tmp_path / "results/small/summary.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "FILE", "--threads", "two"], '--threads: got "two", expected a whole number\n'),
        (["run", "FILE", "-j", "-1"], "--jobs: got -1, expected at least 1\n"),
        (["run", "FILE", "--trace", "log"], '--trace: got "log", expected one of qlog, '),
        (["lab", "--port", "70000"], "--port: got 70000, expected at most 65535\n"),
        # Nothing was given, so the parser's own message says all.
        (["plot", "FILE"], "Missing option '--out'"),
    ],
)
def test_a_refused_option_is_named_with_its_value_and_what_was_expected(
    marqueue, small_file: Path, arguments: list[str], said: str
):
    done = marqueue(*(small_file if each == "FILE" else each for each in arguments))
    assert done.returncode == 2
    assert said in done.stderr


def test_json_is_all_that_is_printed(marqueue, small_file: Path, tmp_path: Path):
    done = marqueue(
        "run", small_file, "--json", "--out", "out", "--replications", "2", "--seed", "5"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == json.loads((tmp_path / "out/summary.json").read_text())
    assert json.loads((tmp_path / "out/provenance.json").read_text())["seed"] == 5


def test_overrides_reach_the_run(marqueue, small_file: Path, tmp_path: Path):
    done = marqueue(
        "run", small_file, "-o", "out", "--set", "traffic.long.count=2", "--set", "name=Other name"
    )
    assert done.returncode == 0, done.stderr
    scenario = json.loads((tmp_path / "out/provenance.json").read_text())["scenario"]
    assert scenario["traffic"][0]["count"] == 2
    assert scenario["name"] == "Other name"


def test_replications_are_added_until_an_interval_is_narrow(
    marqueue, small_file: Path, tmp_path: Path
):
    done = marqueue("run", small_file, "--until", "utilization +- 30%", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "until utilization ±30%: 4 of at most 100" in " ".join(done.stdout.split())
    provenance = json.loads((tmp_path / "out/provenance.json").read_text())
    assert provenance["replications"] == provenance["scenario"]["replications"] == 4
    assert "until utilization ±30%" in (tmp_path / "out/report.html").read_text()


def test_a_cap_that_is_reached_is_a_warning(marqueue, small_file: Path):
    done = marqueue("run", small_file, "--until", "utilization ±0.001%", "-r", "5", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: The cap of 5 replications was reached")
    assert json.loads(done.stdout)["stopping"]["met"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--until", "utilisation ±1%"], 'did you mean "utilization"?'),
        (["--until", "utilization ±1%", "-r", "3"], "replications: got 3, expected at least 4"),
        (["--set", "warmup=auto", "--set", "sample=0 s"], "expected sample above zero"),
    ],
)
def test_a_bad_rule_is_a_message_and_exit_code_2(
    marqueue, small_file: Path, arguments: list[str], said: str
):
    done = marqueue("run", small_file, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_bytes_for_any_number_of_jobs(marqueue, small_file: Path, tmp_path: Path):
    for jobs in ("1", "2"):
        assert marqueue("run", small_file, "--jobs", jobs, "--out", jobs).returncode == 0
    data = [path.name for path in (tmp_path / "1").iterdir() if path.suffix == ".parquet"]
    assert data
    for name in ("summary.json", "scenario.toml", "plan.json", *data):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def test_a_result_is_replaced_only_by_force(marqueue, small_file: Path, tmp_path: Path):
    assert marqueue("run", small_file, "--out", "out").returncode == 0
    refused = marqueue("run", small_file, "--out", "out", "--seed", "2")
    assert refused.returncode == 2
    assert refused.stderr == (
        "out: holds a result (--force replaces it), expected a new or an empty directory\n"
    )
    assert marqueue("run", small_file, "--out", "out", "--seed", "2", "--force").returncode == 0
    assert package.Result.load(tmp_path / "out").provenance.seed == 2


BAD = {
    "unknown key": ("bufer", SMALL.replace("buffer =", "bufer =")),
    "wrong unit": ('got "10 ms", expected a rate', SMALL.replace("10 Mbit/s", "10 ms")),
    "negative rate": ('got "-10 Mbit/s"', SMALL.replace("10 Mbit/s", "-10 Mbit/s")),
    "no flows": ("traffic: missing", SMALL.partition("[[traffic]]")[0]),
    "not TOML": ("line 2", SMALL.replace('"4 s"', "4 s")),
    "not text": ("not UTF-8", "\udcff"),
    "empty": ("duration: missing", ""),
}


@pytest.mark.parametrize(("said", "text"), BAD.values(), ids=BAD)
def test_a_bad_scenario_is_a_message_and_exit_code_2(
    marqueue, tmp_path: Path, said: str, text: str
):
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    done = marqueue("run", path)
    assert done.returncode == 2
    assert said in done.stderr
    assert all(line.startswith(f"{path}: ") for line in done.stderr.splitlines())
    assert done.stdout == ""
    assert [each.name for each in tmp_path.iterdir()] == ["bad.toml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "missing.toml"], "missing.toml: no such file, expected a scenario in TOML"),
        (["run", "."], ".: cannot be read"),
        (["run"], "FILE"),
        (["run", "x.toml", "--jobs", "0"], "--jobs"),
        (["run", "x.toml", "--frce"], "--force"),
        (["aqm", "show", "droptial"], 'did you mean "droptail"?'),
        (["paper", "run", "nobody"], 'got "nobody"'),
        (["fly"], "fly"),
    ],
)
def test_a_bad_command_is_a_message_and_exit_code_2(marqueue, arguments: list[str], said: str):
    done = marqueue(*arguments)
    assert done.returncode == 2
    assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_a_message(marqueue, small_file: Path, tmp_path: Path):
    (tmp_path / "file").touch()
    done = marqueue("run", small_file, "--out", "file/out")
    assert done.returncode == 2
    assert done.stderr.startswith("file/out: cannot be written")
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_a_run_of_hours_and_leaves_nothing(small_file: Path, tmp_path: Path):
    endless = ["--set", "duration=1000000 s", "--set", "sample=0 s"]
    code, stdout = interrupted("run", str(small_file), *endless, cwd=tmp_path)
    assert code == 130
    assert stdout == ""
    assert [each.name for each in tmp_path.iterdir()] == ["small.toml"]


def test_the_catalogue_is_shown(marqueue):
    listed = marqueue("aqm", "list").stdout
    assert "droptail" in listed
    shown = marqueue("aqm", "show", "red").stdout
    for expected in ("max_p", "Default: 0.1", "Values: 0 to 1", "Floyd", "Recorded: avg (packets)"):
        assert expected in " ".join(shown.split())
    tcp = marqueue("tcp", "show").stdout
    assert "min_rto" in tcp
    assert {"rfc", "ns2", "linux"} <= set(tcp.split())
    for expected in ("timestamps", "rack", "prr", "window_scale", "RFC 8985", "RFC 9937"):
        assert expected in tcp


def test_the_schema_validates_the_examples(marqueue):
    validator = jsonschema.Draft202012Validator(json.loads(marqueue("schema").stdout))
    for path in EXAMPLES:
        validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))


def test_every_default_of_the_schema_is_what_the_schema_allows(marqueue):
    document = json.loads(marqueue("schema").stdout)
    found = list(defaults(document, "#"))
    assert len(found) > 100
    wrong = [
        (where, part["default"])
        for where, part in found
        if not jsonschema.Draft202012Validator({**part, "$defs": document["$defs"]}).is_valid(
            part["default"]
        )
    ]
    assert wrong == []


def defaults(part: object, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema that has a default, with its place."""
    if isinstance(part, list):
        for i, each in enumerate(part):
            yield from defaults(each, f"{where}/{i}")
    elif isinstance(part, dict):
        if "default" in part and where.rpartition("/")[2] != "properties":
            yield where, part
        for key, each in part.items():
            if key != "default":
                yield from defaults(each, f"{where}/{key}")


def test_help_and_version(marqueue):
    assert marqueue("--version").stdout == f"marqueue {package.__version__}\n"
    for command in (
        [],
        ["run"],
        ["compare"],
        ["aqm"],
        ["aqm", "show"],
        ["tcp"],
        ["paper"],
        ["paper", "run"],
    ):
        assert marqueue(*command, "--help").returncode == 0
    assert "--replications" in marqueue("run", "--help").stdout
