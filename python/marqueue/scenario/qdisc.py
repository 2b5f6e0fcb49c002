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
MOST_RING = 100
"""Packets for which a network card of a guest has room in any case."""


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
    "ring": "the packets of the typical size that the network card holds at most, with the one "
    "that is being sent; by default byte queue limits find out",
}
"""The keys of a table beside ``name``, each with what it is."""

_RED = {"min_th": "min", "max_th": "max", "max_p": "probability", "w_q": "burst"}
_CODEL = {"target": "target", "interval": "interval", "ce_threshold": "ce_threshold"}
_PIE = {"delay_ref": "target", "target": "target", "t_update": "tupdate", "alpha": "alpha",
        "beta": "beta"}  # fmt: skip
_FAIR = {"queues": "flows", "quantum": "quantum"}

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "cake": {"rtt": "rtt"},
    "choke": _RED,
    "codel": _CODEL,
    "drr": {"quantum": "quantum"},
    "dualpi2": {
        **_PIE, "k": "coupling_factor", "min_th": "step_thresh", "step_packets": "step_thresh",
        "c_protection": "classic_protection",
    },
    "fq_codel": _CODEL | _FAIR,
    "fq_pie": _PIE | _FAIR,
    "pie": _PIE,
    "red": _RED,
    "sfb": {"max": "max", "bin_size": "target", "d1": "increment", "d2": "decrement"},
    "sfq": {"quantum": "quantum", "queues": "divisor"},
}  # fmt: skip
"""What tc calls the parameters of our AQMs, by qdisc."""

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
    kind = str(name).removeprefix(PREFIX)
    problems += [((key,), _refusal(kind, key, given[key])) for key in given if key not in KEYS]
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
    ring = given.get("ring", 1)
    if isinstance(ring, bool) or not isinstance(ring, int) or not 1 <= ring <= MOST_RING:
        problems.append((("ring",), f"got {show(ring)}, expected packets, 1 to {MOST_RING}"))
    if problems:
        raise Refused(problems)
    return str(name), given


def _refusal(kind: str, key: str, value: object) -> str:
    """The message for a key that a qdisc has not: a parameter of our AQM is an option of tc."""
    option = OPTIONS.get(kind, {}).get(key)
    if option is None:
        return unknown_key(key, KEYS, PREFIX + kind)
    return (
        f'got {show(value)}, expected it as "{option}" in options, in the units of tc: '
        f'options = "{option} ..."'
    )


def _is_line(text: object) -> bool:
    """Whether it is one line of visible ASCII. For the guest's program a ``#`` begins a comment."""
    return isinstance(text, str) and text.isascii() and text.isprintable() and "#" not in text
