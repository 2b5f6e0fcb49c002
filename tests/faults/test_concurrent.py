"""Two processes started at the same time: two results, or one result and an error; never a mix."""

import random
from pathlib import Path

from forked import Child, Ended, assert_users_files_are_there, seed_of, trials
from marqueue.results.integrity import read_provenance


def pair(folder: Path, generator: random.Random, *arguments: str) -> list[Ended]:
    """Starts two processes within 50 ms, with seeds 1 and 2."""
    children = []
    for seed in ("1", "2"):
        children.append(Child(folder, *arguments, "--seed", seed))
        if generator.random() < 0.5:
            # Nothing between them, or about as long as a start takes.
            children[-1].pause(generator.uniform(0, 0.05))
    return [child.wait() for child in children]


def test_two_runs_with_the_same_output_directory(folder: Path):
    generator = random.Random(7)
    for number in range(trials(8)):
        out = f"out-{number}"
        ended = pair(folder, generator, "run", "faults.toml", "-o", out)
        codes = [each.code for each in ended]
        assert sorted(codes) == [0, 2], [each.said for each in ended]
        assert seed_of(folder / out) == codes.index(0) + 1
        refused = ended[codes.index(2)].said
        # Who came second, or so late that the first had ended.
        assert f"{out}: in use by process" in refused or f"{out}: holds a result" in refused
        assert not (folder / f"{out}.checkpoints").exists()
        assert_users_files_are_there(folder)


def test_two_runs_without_an_output_directory(folder: Path):
    generator = random.Random(8)
    for number in range(1, trials(8) + 1):
        ended = pair(folder, generator, "run", "faults.toml")
        assert [each.code for each in ended] == [0, 0], [each.said for each in ended]
        results = [each for each in (folder / "results").iterdir() if each.name != "latest"]
        assert len(results) == 2 * number
        seeds = [read_provenance(each)["seed"] for each in results]
        assert sorted(seeds) == [1] * number + [2] * number
    assert all(seed_of(each) for each in results)


def test_two_processes_that_resume_the_same_run(folder: Path):
    generator = random.Random(9)
    for number in range(trials(6)):
        out = f"out-{number}"
        arguments = ("run", "faults.toml", "-o", out)
        killed = Child(folder, *arguments, kill_before=40).wait()
        assert killed.code == -9
        children = [Child(folder, *arguments, "--resume")]
        children[0].pause(generator.uniform(0, 0.05))
        children.append(Child(folder, *arguments, "--resume"))
        ended = [child.wait() for child in children]
        assert sorted(each.code for each in ended) == [0, 2], [each.said for each in ended]
        refused = next(each.said for each in ended if each.code == 2)
        assert f"{out}: in use by process" in refused or f"{out}: holds a result" in refused
        assert seed_of(folder / out) == 1
