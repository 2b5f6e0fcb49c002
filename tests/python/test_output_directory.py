"""Where results go: nothing that marqueue did not write is replaced, and two runs never mix."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import COMMAND
from marqueue import Result, Scenario, run
from marqueue.errors import MarqueueError, RunError
from marqueue.results.output_directory import claim

Command = Callable[..., subprocess.CompletedProcess[str]]


def tree(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder: the content of files, the target of links."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def result(marqueue: Command, small_file: Path, tmp_path: Path) -> Path:
    """The directory of a result."""
    assert marqueue("run", small_file, "--out", "out").returncode == 0
    return tmp_path / "out"


class TestForeignFiles:
    @pytest.mark.parametrize("options", [[], ["--force"]], ids=["plain", "force"])
    def test_a_directory_of_others_is_left_alone(
        self, marqueue: Command, small_file: Path, tmp_path: Path, options: list[str]
    ):
        thesis = tmp_path / "home/projects/thesis/t.tex"
        thesis.parent.mkdir(parents=True)
        thesis.write_text("mine")
        before = tree(tmp_path)
        done = marqueue("run", small_file, "--out", "home", *options)
        assert done.returncode == 2
        assert done.stderr == (
            "home: holds projects, not a result of marqueue, expected a new or an empty directory\n"
        )
        assert tree(tmp_path) == before

    @pytest.mark.parametrize("name", ["notes.txt", "sub/notes.txt", "provenance.json.bak"])
    def test_a_result_with_a_foreign_file_is_not_replaced(
        self, marqueue: Command, small_file: Path, result: Path, name: str
    ):
        (result / name).parent.mkdir(exist_ok=True)
        (result / name).write_text("mine")
        before = tree(result)
        done = marqueue("run", small_file, "--out", "out", "--force")
        assert done.returncode == 2
        assert name.split("/")[0] in done.stderr
        assert tree(result) == before

    def test_a_result_that_was_edited_is_not_replaced(
        self, marqueue: Command, small_file: Path, result: Path
    ):
        (result / "scenario.toml").write_text("edited")
        done = marqueue("run", small_file, "--out", "out", "--force")
        assert done.returncode == 2
        assert "out: holds files" in done.stderr
        assert "(scenario.toml)" in done.stderr
        assert (result / "scenario.toml").read_text() == "edited"

    def test_a_link_in_a_result_is_foreign(
        self, marqueue: Command, small_file: Path, result: Path, tmp_path: Path
    ):
        (tmp_path / "mine").mkdir()
        (result / "link").symlink_to(tmp_path / "mine")
        assert marqueue("run", small_file, "--out", "out", "--force").returncode == 2
        assert (result / "link").is_symlink()

    def test_what_lacks_a_file_can_be_replaced(
        self, marqueue: Command, small_file: Path, result: Path
    ):
        (result / "report.html").unlink()
        assert marqueue("run", small_file, "--out", "out", "--force").returncode == 0
        assert (result / "report.html").exists()

    def test_directories_with_names_of_temporary_ones_are_left_alone(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        for name in ("out.new", ".out.0123456789ab.partial", ".out.0123456789ab.replaced"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "mine").write_text("mine")
        assert marqueue("run", small_file, "--out", "other").returncode == 0
        before = tree(tmp_path)
        done = marqueue("run", small_file, "--out", "out")
        after = tree(tmp_path)
        assert {name: after.get(name) for name in before} == before, done.stderr

    def test_a_foreign_directory_in_the_place_of_checkpoints_is_refused(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        (tmp_path / "out.checkpoints").mkdir()
        (tmp_path / "out.checkpoints/mine").write_text("mine")
        for options in ([], ["--force"], ["--resume"]):
            done = marqueue("run", small_file, "--out", "out", *options)
            assert done.returncode == 2
            assert "out.checkpoints: holds mine, which marqueue did not write" in done.stderr
        assert tree(tmp_path / "out.checkpoints") == {"mine": b"mine"}

    def test_what_appears_during_the_run_stays_and_the_result_is_beside_it(
        self, small: Scenario, tmp_path: Path
    ):
        made = run(small)

        def write() -> None:
            with claim(tmp_path / "out") as output, output.staged() as fresh:
                made.write_files(fresh)
                (tmp_path / "out").mkdir()
                (tmp_path / "out/mine").write_text("mine")

        with pytest.raises(RunError, match=r"appeared during the run; the result is in .*out-2"):
            write()
        assert tree(tmp_path / "out") == {"mine": b"mine"}
        assert Result.load(tmp_path / "out-2") == made

    def test_points_are_back_in_the_checkpoints_if_their_sweep_is_not_in_place(
        self, tmp_path: Path
    ):
        points = tmp_path / "out.checkpoints/points"
        (points / "1").mkdir(parents=True)

        def fail() -> None:
            with claim(tmp_path / "out") as output, output.staged(points) as fresh:
                assert (fresh / "points/1").is_dir()
                assert not points.exists()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert (points / "1").is_dir()
        # As a process leaves them that is killed.
        killed = tmp_path / ".out.0123456789ab.partial"
        killed.mkdir()
        points.rename(killed / "points")
        with claim(tmp_path / "out"):
            assert (points / "1").is_dir()

    def test_what_appears_during_a_replacement_stays_too(self, small: Scenario, tmp_path: Path):
        old, new = run(small), run(small, seed=2)
        old.save(tmp_path / "out")

        def write() -> None:
            with claim(tmp_path / "out", replace=True) as output, output.staged() as fresh:
                new.write_files(fresh)
                (tmp_path / "out/mine").write_text("mine")

        with pytest.raises(RunError, match=r"\(mine\), which appeared during the run"):
            write()
        assert (tmp_path / "out/mine").read_text() == "mine"
        assert Result.load(tmp_path / "out") == old
        assert Result.load(tmp_path / "out-2") == new


class TestPlaces:
    def test_an_empty_directory_is_accepted(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        (tmp_path / "out").mkdir()
        assert marqueue("run", small_file, "--out", "out").returncode == 0
        assert (tmp_path / "out/report.html").exists()

    @pytest.mark.parametrize(
        ("out", "said"),
        [
            (".", ".: is or holds the current directory"),
            ("..", "..: is or holds the current directory"),
            ("dangling", "dangling: is a symbolic link to nowhere"),
            ("linked", "linked: is a symbolic link to empty"),
            ("file", "file: is a file"),
            ("file/out", "file/out: cannot be written"),
            (b"\xff".decode("utf-8", "surrogateescape"), "not valid UTF-8"),
            ("n" * 250, "expected a name of at most 200 bytes"),
        ],
    )
    @pytest.mark.parametrize("options", [[], ["--force"]], ids=["plain", "force"])
    def test_a_place_that_cannot_be_used_is_refused_before_the_run(
        self, marqueue: Command, small_file: Path, tmp_path: Path, out, said, options
    ):
        (tmp_path / "dangling").symlink_to("nowhere")
        (tmp_path / "empty").mkdir()
        (tmp_path / "linked").symlink_to("empty")
        (tmp_path / "file").touch()
        before = sorted(tmp_path.rglob("*"))
        # A run of hours, so that a refusal after it would not come.
        hours = ["--set", "duration=1000000 s", "--set", "sample=0 s"]
        done = marqueue("run", small_file, *hours, "--out", out, *options)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.rglob("*")) == before

    def test_without_a_place_runs_are_numbered(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        for seed, name in (("1", "small"), ("2", "small-2"), ("3", "small-3")):
            done = marqueue("run", small_file, "--seed", seed)
            assert done.returncode == 0, done.stderr
            assert f"results/{name}/report.html (also results/latest/report.html)" in done.stdout
            assert os.readlink(tmp_path / "results/latest") == name
            assert Result.load(tmp_path / "results/latest").provenance.seed == int(seed)
        assert done.stderr == "results/small is taken; the output goes to results/small-3.\n"
        assert marqueue("run", small_file, "--force", "--seed", "4").returncode == 0
        assert Result.load(tmp_path / "results/small").provenance.seed == 4
        assert os.readlink(tmp_path / "results/latest") == "small"

    def test_a_directory_called_latest_is_left_alone(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        (tmp_path / "results/latest").mkdir(parents=True)
        assert marqueue("run", small_file).returncode == 0
        assert not (tmp_path / "results/latest").is_symlink()
        done = marqueue("run", small_file, "--set", "name=latest")
        assert done.returncode == 0
        assert (tmp_path / "results/scenario-latest").is_dir()

    def test_resume_without_a_place_continues_the_last_that_has_checkpoints(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        assert marqueue("run", small_file).returncode == 0
        endless = ["--set", "duration=100000 s", "--set", "sample=0 s", "-r", "2", "--jobs", "1"]
        cut = marqueue("run", small_file, *endless, "--max-events", "4000", "--max-time", "20 s")
        assert cut.returncode == 3, cut.stderr
        assert (tmp_path / "results/small-2.checkpoints").is_dir()
        again = ["--max-events", "4000", "--resume"]
        done = marqueue("run", small_file, *endless, *again)
        assert "Continuing from results/small-2.checkpoints" in done.stderr
        assert not (tmp_path / "results/small-3").exists()


class TestOtherProcesses:
    def test_the_second_comer_is_told_who_is_there(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        with claim(tmp_path / "out"):
            done = marqueue("run", small_file, "--out", "out")
            assert done.returncode == 2
            assert f"out: in use by process {os.getpid()} (" in done.stderr
            assert "since 2" in done.stderr
        assert marqueue("run", small_file, "--out", "out").returncode == 0
        assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "small.toml"]

    def test_without_a_place_the_second_comer_goes_elsewhere(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        with claim(tmp_path / "results/small"):
            done = marqueue("run", small_file)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "results/small-2/report.html").exists()

    def test_a_lock_whose_holder_was_killed_is_free(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        endless = ["--set", "duration=1000000 s", "--set", "sample=0 s"]
        process = subprocess.Popen(
            [*COMMAND, "run", small_file, *endless, "-o", "out"], cwd=tmp_path
        )
        lock = tmp_path / ".out.lock"
        while not lock.exists() or not lock.read_text():
            assert process.poll() is None
        process.kill()
        process.wait()
        assert lock.exists()
        done = marqueue("run", small_file, "--out", "out")
        assert done.returncode == 0, done.stderr
        assert not lock.exists()

    def test_a_file_that_is_no_lock_is_left_alone(
        self, marqueue: Command, small_file: Path, tmp_path: Path
    ):
        (tmp_path / ".out.lock").write_text("mine")
        done = marqueue("run", small_file, "--out", "out")
        assert done.returncode == 2
        assert ".out.lock: not a lock file of marqueue" in done.stderr
        assert (tmp_path / ".out.lock").read_text() == "mine"


class TestInterruptedReplacements:
    def test_a_replacement_that_stopped_half_way_is_undone(self, small: Scenario, tmp_path: Path):
        """Where a file system cannot swap two names, the old result is moved aside first."""
        old = run(small)
        old.save(tmp_path / ".out.0123456789ab.replaced")
        with claim(tmp_path / "out", replace=True) as output:
            assert output.notes == ["out was moved back: its replacement had been interrupted."]
            assert Result.load(tmp_path / "out") == old

    @pytest.mark.parametrize("swapped", [False, True])
    def test_of_two_results_about_to_be_swapped_the_newer_stays(
        self, small: Scenario, tmp_path: Path, swapped: bool
    ):
        """The run was killed before the swap, or after it and before the old result was removed."""
        names = ["out", ".out.0123456789ab.replaced"]
        old, new = run(small), run(small, seed=2)
        written = [result.save(tmp_path / name) for result, name in ((old, "a"), (new, "b"))]
        for folder, name in zip(written, reversed(names) if swapped else names, strict=True):
            folder.rename(tmp_path / name)
        with claim(tmp_path / "out", replace=True) as output:
            assert Result.load(tmp_path / "out") == new
            [note] = output.notes
        completed = "out was replaced: its replacement had been interrupted."
        assert (note == completed) != swapped
        assert (tmp_path / names[1]).exists() == swapped

    def test_what_a_killed_run_left_is_named(self, small: Scenario, tmp_path: Path):
        (tmp_path / ".out.0123456789ab.partial").mkdir()
        with claim(tmp_path / "out") as output:
            [note] = output.notes
            assert ".out.0123456789ab.partial: probably left by a run that was killed" in note

    def test_a_failure_leaves_the_old_result(self, small: Scenario, tmp_path: Path):
        old = run(small)
        old.save(tmp_path / "out")

        def fail() -> None:
            with claim(tmp_path / "out", replace=True) as output, output.staged() as fresh:
                (fresh / "half").touch()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert Result.load(tmp_path / "out") == old
        assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_what_is_written_is_what_was_asked_for_by_one(small: Scenario, tmp_path: Path):
    made = run(small).save(tmp_path / "out")
    listed = json.loads((made / "provenance.json").read_text())["files"]
    found = {str(each.relative_to(made)) for each in made.rglob("*")}
    assert found == {*listed, "provenance.json", "circumstances.json"}
    with pytest.raises(MarqueueError, match="holds a result"):
        run(small).save(made)
