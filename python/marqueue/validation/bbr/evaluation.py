"""The test cases of draft-ietf-ccwg-bbr as the evaluation of one version of BBR.

The cases verify states, gains and bounds of BBR's own state machine, so that no other control can
be held to them. They are those of the rung ``bbr`` of ``marqueue validate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from marqueue.errors import MarqueueError, unknown
from marqueue.validation.bbr import BBR, CASES, VERSIONS, applicable, tasks
from marqueue.validation.rung import Rung

NAME = "ccwg-bbr"


def draft_cases(control: str, only: Sequence[str], seed: int) -> Rung:
    """The cases that apply to a version of BBR, or those of them that are named by their numbers.

    Seeds are counted from ``seed``. Raises MarqueueError for another control, an unknown number or
    a case that does not apply.
    """
    if control not in VERSIONS:
        raise MarqueueError(
            f"--control: {unknown(control, VERSIONS)}: the cases of {NAME} are about BBR's states"
        )
    chosen = _numbered(control, only) or applicable(control)
    left = [name for name in CASES if name not in applicable(control)]
    about = BBR.about
    if left:
        about += f" Not applicable to {control}: {'; '.join(left)}."
    return Rung(
        NAME,
        f"{BBR.title}: {control}",
        about,
        partial(tasks, versions=(control,), only=chosen, first_seed=seed),
    )


def _numbered(control: str, only: Sequence[str]) -> list[str]:
    """The cases with these numbers: "6" and "7" are both of "6, 7 PROBE_UP"."""
    numbers = {name: _numbers(name) for name in CASES}
    known = dict.fromkeys(number for each in numbers.values() for number in each)
    for number in only:
        if number not in known:
            raise MarqueueError(f"--only: {unknown(number, known)}")
    chosen = [name for name, each in numbers.items() if set(each) & set(only)]
    for number in only:
        if not any(number in numbers[name] for name in applicable(control)):
            raise MarqueueError(f"--only {number}: got a case that does not apply to {control}")
    return [name for name in chosen if name in applicable(control)]


def _numbers(name: str) -> list[str]:
    return [word.rstrip(",") for word in name.split() if word.rstrip(",").isdigit()]
