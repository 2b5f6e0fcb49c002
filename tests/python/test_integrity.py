"""Digests of results: whatever is changed is found, and named."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from marqueue import MarqueueError, Result, Scenario, from_toml, run
from marqueue.errors import ResultError
from marqueue.results.comparison import compare
from marqueue.results.integrity import Fault, check_directory, read_sealed, write_sealed
from marqueue.simulation.sweep import sweep
from small_scenario import SMALL


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(from_toml(SMALL)).save(tmp_path_factory.mktemp("saved") / "out")


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def flip(path: Path, byte: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[byte % len(content)] ^= 1 << bit
    path.write_bytes(content)


def names(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def test_nothing_is_found_where_nothing_was_changed(saved: Path):
    assert check_directory(saved) == []


def test_a_flip_in_any_file_is_named(saved: Path, tmp_path: Path):
    """Some in every file; `make faults` tries more."""
    rng = np.random.default_rng(1)
    for number, name in enumerate(names(saved) * 3):
        copy = Path(shutil.copytree(saved, tmp_path / str(number)))
        flip(copy / name, int(rng.integers(1 << 30)), int(rng.integers(8)))
        if name == "provenance.json":
            with pytest.raises(ResultError, match=name):
                check_directory(copy)
        else:
            assert [finding.path for finding in check_directory(copy)] == [name]
        if name.endswith((".parquet", ".toml", ".json")):
            with pytest.raises(ResultError, match=name):
                Result.load(copy)


@pytest.mark.parametrize("name", ["windows.parquet", "plan.json", "circumstances.json"])
def test_files_of_another_result_are_found(copy: Path, small: Scenario, tmp_path: Path, name: str):
    other = run(small, seed=7).save(tmp_path / "other")
    source = "flows.parquet" if name == "plan.json" else name
    shutil.copy(other / source, copy / name)
    with pytest.raises(ResultError, match=name):
        Result.load(copy)
    assert [finding.path for finding in check_directory(copy)] == [name]


def test_missing_and_foreign_files_are_named(copy: Path):
    (copy / "flows.parquet").unlink()
    (copy / "notes.txt").touch()
    (copy / "sub").mkdir()
    assert [(each.path, each.fault) for each in check_directory(copy)] == [
        ("flows.parquet", Fault.MISSING),
        ("notes.txt", Fault.FOREIGN),
        ("sub", Fault.FOREIGN),
    ]


def test_a_result_of_another_format_says_so(copy: Path):
    table = read_sealed(copy / "provenance.json")
    del table["sha256"]
    write_sealed(copy / "provenance.json", table | {"format": 99})
    with pytest.raises(ResultError, match="format 99"):
        Result.load(copy)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "out"
    sweep(from_toml(SMALL), ["traffic.long.count=2,3"], out)
    return out


class TestSweeps:
    def test_points_are_checked_too(self, swept: Path, tmp_path: Path):
        copy = Path(shutil.copytree(swept, tmp_path / "copy"))
        assert check_directory(copy) == []
        flip(copy / "points/2/flows.parquet", 100, 1)
        (copy / "points/1/mine").touch()
        assert [str(each) for each in check_directory(copy)] == [
            "points/1/mine: not written by marqueue",
            "points/2/flows.parquet: changed since marqueue wrote it",
        ]

    def test_points_that_are_exchanged_are_found(self, swept: Path, tmp_path: Path):
        copy = Path(shutil.copytree(swept, tmp_path / "copy"))
        (copy / "points/1").rename(copy / "points/3")
        (copy / "points/2").rename(copy / "points/1")
        (copy / "points/3").rename(copy / "points/2")
        found = [each.path for each in check_directory(copy) if each.fault is Fault.CHANGED]
        assert found == ["points/1/provenance.json", "points/2/provenance.json"]

    def test_a_sweep_is_no_result_of_a_run(self, swept: Path):
        with pytest.raises(ResultError, match="the output of marqueue sweep"):
            Result.load(swept)
        one, two = (Result.load(swept / "points" / name) for name in "12")
        assert compare(one, two).differences


class TestCommand:
    def test_everything_is_as_written(self, marqueue, saved: Path):
        done = marqueue("check", saved)
        assert done.returncode == 0, done.stderr
        assert "output of marqueue run" in done.stdout
        assert done.stdout.rstrip().endswith("all unchanged")

    def test_what_is_not_is_named(self, marqueue, copy: Path, tmp_path: Path):
        flip(copy / "series.parquet", 4000, 3)
        done = marqueue("check", copy, tmp_path)
        assert done.returncode == 2
        assert "series.parquet: changed since marqueue wrote it" in done.stdout
        assert f"{tmp_path}: not a result" in done.stdout
        answers = json.loads(marqueue("check", copy, "--json").stdout)
        assert answers[str(copy)]["findings"]

    def test_for_a_scenario_another_command_is_named(self, marqueue, tmp_path: Path):
        scenario = tmp_path / "mine.toml"
        scenario.write_text('name = "Mine"', encoding="utf-8")
        done = marqueue("check", scenario)
        assert done.returncode == 2
        assert f"marqueue run --estimate {scenario}" in done.stdout

    def test_compare_names_the_file(self, marqueue, saved: Path, copy: Path):
        flip(copy / "windows.parquet", 5000, 0)
        done = marqueue("compare", saved, copy)
        assert done.returncode == 2
        assert "windows.parquet: damaged" in done.stderr


def test_a_sealed_file_with_any_change_is_refused(tmp_path: Path):
    path = tmp_path / "sealed.json"
    write_sealed(path, {"a": 1, "b": {"ü": [1, 2.5, None]}})
    content = path.read_bytes()
    assert read_sealed(path)["b"] == {"ü": [1, 2.5, None]}
    for byte in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[byte] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(ResultError, match=r"sealed\.json"):
                read_sealed(path)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(ResultError, match=r"sealed\.json"):
            read_sealed(path)


def test_errors_are_a_users(copy: Path):
    (copy / "provenance.json").unlink()
    with pytest.raises(MarqueueError):
        Result.load(copy)
