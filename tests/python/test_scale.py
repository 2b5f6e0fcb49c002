"""Scenarios of very many groups of traffic, and files that never end."""

import cProfile
import json
import os
import pstats
import subprocess
import threading
from collections.abc import Callable

import pytest

from conftest import COMMAND
from marqueue.reports.run_report import report
from marqueue.results.result_warnings import MOST_LISTED
from marqueue.scenario import from_toml, load
from marqueue.scenario.source_text import LARGEST
from marqueue.simulation.run import run
from small_scenario import SMALL

NETWORK = SMALL[: SMALL.index("[[traffic]]")]


def groups(count: int, keys: str = 'kind = "tcp"') -> str:
    """A scenario of so many groups, each with a name of its own."""
    tables = (f'[[traffic]]\nname = "g{i}"\n{keys}\n' for i in range(count))
    return NETWORK.replace('"4 s"', '"1.2 s"').replace("= 3", "= 1") + "\n".join(tables)


def calls(action: Callable[[], object]) -> int:
    """How many calls an action takes: a measure of work that no other program can change."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "keys",
    [
        'kind = "tcp"\ndirection = "reverse"\njitter = "0 s"\ncount = 2',
        'kind = "poisson"\nrate = "1 /s"\nsize = "2 packets"',
    ],
)
def test_work_grows_in_proportion_to_the_groups(tmp_path, keys):
    def work(count: int) -> int:
        text = groups(count, keys)
        directory = tmp_path / str(count)
        return calls(lambda: run(from_toml(text)).save(directory))

    work(10)  # What is loaded or kept at first use is not counted below.
    few, many = work(2 * MOST_LISTED), work(4 * MOST_LISTED)
    assert many < 2.2 * few


def test_many_groups_are_listed_in_part_and_the_rest_is_found():
    count = MOST_LISTED + 50
    result = run(from_toml(groups(count)))
    summary = result.summary()
    assert list(summary["measured"]["groups"]) == [f"g{i}" for i in range(MOST_LISTED)]
    [remark] = [each for each in summary["warnings"] if "groups of traffic" in each]
    assert f"{count} groups of traffic" in remark
    assert "flows.parquet" in remark
    assert len(result.groups) == count
    last = result.traffic(group=f"g{count - 1}")
    assert last["flows"].mean == 1
    each = sum(result.traffic(group=name)["goodput"].mean for name in result.groups)
    assert each == pytest.approx(result.traffic()["goodput"].mean)


def test_the_page_of_many_groups_stays_small():
    sizes = {count: len(report(run(from_toml(groups(count)))).render()) for count in (20, 2000)}
    assert sizes[2000] < sizes[20] + 400_000


def test_names_given_twice_are_found_among_many():
    text = groups(2000) + '[[traffic]]\nname = "g7"\nkind = "tcp"\n'
    with pytest.raises(ValueError, match=r'traffic\..*name: got "g7" again'):
        from_toml(text)


def test_a_file_without_an_end_is_refused(marqueue):
    done = marqueue("run", "/dev/zero")
    assert done.returncode == 2
    expected = "expected a scenario in TOML of at most 64 MiB"
    assert done.stderr == f"/dev/zero: got more than 64 MiB, {expected}\n"


def test_the_largest_file_has_room_for_a_hundred_thousand_groups():
    few, many = (len(from_toml(groups(count)).to_toml()) for count in (1000, 2000))
    assert 100 * (many - few) < LARGEST


def test_a_directory_is_no_scenario(marqueue, tmp_path):
    done = marqueue("run", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path}: cannot be read: Is a directory\n"


def test_a_scenario_comes_from_standard_input(small_file):
    script = "from marqueue.scenario import load; print(load('-').hash)"
    with small_file.open() as file:
        done = subprocess.run(
            [COMMAND[0], "-c", script], stdin=file, capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == load(small_file).hash


def test_a_scenario_comes_through_a_pipe_of_the_shell(small_file, tmp_path):
    script = f"{' '.join(COMMAND)} run <(cat {small_file}) --replications 1 --json"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["name"] == "Small"
    assert done.stderr == ""


def test_a_fifo_is_waited_for_with_a_word(small_file, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "run", str(fifo), "--replications", "1", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == f"{fifo}: waiting for a scenario, no data yet\n"
    fifo.write_text(small_file.read_text(encoding="utf-8"), encoding="utf-8")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(output)["name"] == "Small"


def test_a_pipe_may_deliver_in_pieces(small_file, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def deliver() -> None:
        with fifo.open("w", encoding="utf-8") as file:
            for line in small_file.read_text(encoding="utf-8").splitlines(keepends=True):
                file.write(line)
                file.flush()

    writer = threading.Thread(target=deliver)
    writer.start()
    scenario = load(fifo)
    writer.join()
    assert scenario.hash == load(small_file).hash
