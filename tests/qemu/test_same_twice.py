"""The machine does the same each time, whatever else its host does: also what the measurements of
docs/attach.md are."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts import console, needs_machine, sections


@needs_machine
def test_two_machines_beside_each_other_print_the_same(tmp_path: Path):
    folders = [tmp_path / "first", tmp_path / "second"]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor() as both:
        first, second = both.map(lambda folder: console("qdisc.sh", folder, seconds=1), folders)
    # Random numbers of the kernel are made of the times of interrupts, to the cycle.
    assert "random" in sections(first)
    assert first == second
