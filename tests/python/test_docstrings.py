"""The examples in docstrings do what they show."""

import doctest
from pathlib import Path

import pytest

from marqueue import Result, from_dict, load, with_overrides
from marqueue.results.comparison import compare
from marqueue.simulation.sweep import sweep

ROOT = Path(__file__).parents[2]
SHOWN = [load, from_dict, with_overrides, sweep, compare, Result]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda each: each.__qualname__)
def test_the_examples_run(
    shown: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    [test] = finder.find(shown, getattr(shown, "__qualname__", ""), globs={})
    assert test.examples
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert done.failed == 0, capsys.readouterr().out
