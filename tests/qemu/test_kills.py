"""CHOKeW's qdisc is attached and detached by a program that is killed (SIGKILL) at any step: the
next one works, and leaves nothing that detach does not remove."""

import pytest

from scripts import console, needs_machine, sections

pytestmark = needs_machine


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the machine printed, by section."""
    # Ten times what it takes on an idle machine.
    return sections(console("kills.sh", tmp_path_factory.mktemp("machine"), most=2000))


@pytest.mark.parametrize("step", ["attach", "detach", "back"])
def test_a_killed_step_leaves_nothing_that_the_next_does_not_remove(said, step: str):
    first, *kills = said[step].splitlines()
    assert first == ("detached true" if step == "detach" else "attached true")
    outcomes = [each.split(maxsplit=2)[2] for each in kills]
    assert len(outcomes) > 8
    assert step == "back" or any(each.startswith("sendto") for each in kills)
    expected = {"detach 137 - noqueue 0", "attach 137 chokew noqueue 0"}
    assert set(outcomes) == expected, said[step]


def test_the_kernel_complains_of_nothing(said):
    assert said["log"] == ""
