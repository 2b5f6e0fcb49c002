"""AQMs that are qdiscs of a Linux kernel: ``aqm = "linux:fq_codel"``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from marqueue.errors import show, unknown, unknown_key
from marqueue.scenario.parameters import Refused, Value
from marqueue.scenario.stack import KERNEL_NAME

PREFIX = "linux:"
DEFAULT_KERNEL = "linux-7.3"
"""The newest kernel of ``marqueue kernel list``."""


@dataclass(frozen=True)
class Qdisc:
    """What a qdisc is told of the keys of its link."""

    limit: Literal["packets", "bytes"] | None = None
    """The unit of its option ``limit``, which is the buffer; None if it has no such option."""
    ecn: Literal["option", "default", "always", "never"] = "never"
    """Whether it marks: with the option ``ecn``, unless there is ``noecn``, always, or never."""
    needs: tuple[str, ...] = ()
    """Options without default that follow from the link: ``avpkt`` and ``bandwidth``."""


QDISCS = {
    "bfifo": Qdisc("bytes"),
    "cake": Qdisc(ecn="always"),
    "choke": Qdisc("packets", "option", ("avpkt", "bandwidth")),
    "codel": Qdisc("packets", "option"),
    "drr": Qdisc(),
    "dualpi2": Qdisc("packets", "always"),
    "ets": Qdisc(),
    "fq": Qdisc("packets"),
    "fq_codel": Qdisc("packets", "default"),
    "fq_pie": Qdisc("packets", "option"),
    "hfsc": Qdisc(),
    "hhf": Qdisc("packets"),
    "htb": Qdisc(),
    "pfifo": Qdisc("packets"),
    "pfifo_fast": Qdisc(),
    "pie": Qdisc("packets", "option"),
    "prio": Qdisc(),
    "qfq": Qdisc(),
    "red": Qdisc("bytes", "option", ("avpkt", "bandwidth")),
    "sfb": Qdisc("packets", "always"),
    "sfq": Qdisc("packets"),
}
"""The qdiscs that a kernel of ours has and that can be the root of a device."""

KEYS = {
    "options": "what tc is told behind the name of the qdisc, such as target 10ms",
    "commands": "further commands of tc, without the device, such as class add parent 1: classid "
    "1:1 htb rate 5mbit; the qdisc then has the handle 1:",
    "kernel": "the kernel, by its name in marqueue kernel list",
}
"""The keys of a table beside ``name``, each with what it is."""

NAMES = [PREFIX + name for name in QDISCS]


def is_qdisc(name: object) -> bool:
    """Whether a name of an AQM is that of a kernel's qdisc."""
    return isinstance(name, str) and name.startswith(PREFIX)


def read_qdisc(value: str | Mapping[str, object]) -> tuple[str, dict[str, Value]]:
    """Name and keys, from a name alone or a table. Raises :class:`Refused` with all problems."""
    table: Mapping[str, object] = {"name": value} if isinstance(value, str) else value
    where = () if isinstance(value, str) else ("name",)
    name = table["name"]
    problems: list[tuple[tuple[str, ...], str]] = []
    if name not in NAMES:
        problems.append((where, unknown(name, NAMES)))
    given: dict[str, Any] = {key: each for key, each in table.items() if key != "name"}
    problems += [((key,), unknown_key(key, KEYS, str(name))) for key in given if key not in KEYS]
    options, commands = given.get("options", ""), given.get("commands", [])
    if not _is_line(options):
        problems.append((("options",), f"got {show(options)}, expected options of tc"))
    is_list = isinstance(commands, list) and all(map(_is_line, commands))
    if not is_list or not all(len(each.split()) > 2 for each in commands):
        expected = 'expected a list of commands of tc, such as "class add parent 1: classid 1:1"'
        problems.append((("commands",), f"got {show(commands)}, {expected}"))
    kernel = given.get("kernel", DEFAULT_KERNEL)
    if not isinstance(kernel, str) or not KERNEL_NAME.fullmatch(kernel):
        expected = f'expected the name of a kernel such as "{DEFAULT_KERNEL}"'
        problems.append((("kernel",), f"got {show(kernel)}, {expected}"))
    if problems:
        raise Refused(problems)
    return str(name), given


def _is_line(text: object) -> bool:
    """Whether it is one line of visible ASCII. For the guest's program a ``#`` begins a comment."""
    return isinstance(text, str) and text.isascii() and text.isprintable() and "#" not in text
