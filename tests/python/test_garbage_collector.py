"""The garbage collector pauses, and is then as it was."""

import gc
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from marqueue import from_dict
from marqueue.garbage_collector import paused_collector
from marqueue.scenario import Scenario


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_it_pauses_and_goes_on() -> None:
    with paused_collector(), paused_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    @paused_collector()
    def fails() -> None:
        assert not gc.isenabled()
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert gc.isenabled()


def test_one_that_was_disabled_stays_so() -> None:
    gc.disable()
    with paused_collector():
        pass
    assert not gc.isenabled()


def test_it_goes_on_when_the_last_thread_leaves() -> None:
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with paused_collector():
            entered.set()
            left.wait(60)

    with ExitStack() as here:
        here.enter_context(paused_collector())
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
    assert not gc.isenabled()
    left.set()
    thread.join(60)
    assert gc.isenabled()


def test_reading_a_scenario_leaves_it_as_it_was(small: Scenario) -> None:
    from_dict(small.to_dict())
    assert gc.isenabled()
    with pytest.raises(ValueError, match="got"):
        from_dict(small.to_dict() | {"duration": "long"})
    assert gc.isenabled()
