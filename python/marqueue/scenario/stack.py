"""The TCP of flows that end in Linux kernels: the keys ``stack``, ``congestion_control`` and
``sysctl`` of a table of [transport], and what becomes of a model's settings there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marqueue.errors import show
from marqueue.scenario.parameters import Refused, Value

MODEL = "model"
"""The value of ``stack`` for the simulator's own TCP."""
KEYS = ("stack", "congestion_control", "sysctl")
MAPPED = ("control", "ecn", "segment")
"""The parameters of TCP that a kernel can be given."""
ECN = "net.ipv4.tcp_ecn"
CONTROLS = {"reno": "reno", "cubic": "cubic", "dctcp": "dctcp", "scalable": "scalable"}
"""The kernel's congestion control for each of ours that it has."""
PRESET = "linux"
"""The preset that says how large segments are, and what the settings of a kernel are nearest to."""

KERNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"[a-z0-9_-]{1,15}")
_SYSCTL = re.compile(r"net(\.[A-Za-z0-9_-]+)+")
_WORD = r"[!\"$-~]+"
_SYSCTL_VALUE = re.compile(f"{_WORD}( {_WORD})*")
"""Words of visible ASCII with one blank between them. The guest's program reads words, and for it a
``#`` begins a comment."""


@dataclass(frozen=True)
class Stack:
    """The TCP of a kernel."""

    kernel: str
    """Its name, such as linux-7.3."""
    congestion_control: str | None = None
    """Its congestion control; None for the one that has the name of ``control``."""
    sysctl: Mapping[str, str] = field(default_factory=dict)
    """Values of sysctls at both ends."""

    def table(self) -> dict[str, Any]:
        """The keys of the scenario."""
        table: dict[str, Any] = {"stack": self.kernel}
        if self.congestion_control is not None:
            table["congestion_control"] = self.congestion_control
        return table | ({"sysctl": dict(self.sysctl)} if self.sysctl else {})

    def plan(self, params: Mapping[str, Value]) -> dict[str, Any]:
        """The entry of the plan; ``params`` are the given parameters of TCP."""
        control = self.congestion_control or CONTROLS[str(params.get("control", "cubic"))]
        sysctl = {ECN: "1"} if params.get("ecn") is True else {}
        return {
            "kernel": self.kernel,
            "congestion_control": control,
            "sysctl": sysctl | dict(self.sysctl),
        }


def read_stack(table: Mapping[str, object]) -> Stack | None:
    """The stack of a table of [transport]; None for the model. Raises :class:`Refused`."""
    kernel = table.get("stack", MODEL)
    if not isinstance(kernel, str) or not KERNEL_NAME.fullmatch(kernel):
        expected = f'expected "{MODEL}", or the name of a kernel such as "linux-7.3"'
        raise Refused([(("stack",), f"got {show(kernel)}, {expected}")])
    if kernel == MODEL:
        beside = [key for key in KEYS[1:] if key in table]
        if beside:
            message = 'expected a kernel with it, such as stack = "linux-7.3"'
            raise Refused([((key,), message) for key in beside])
        return None
    problems: list[tuple[tuple[str, ...], str]] = [
        ((key,), f"the kernel decides it; expected {', '.join(MAPPED)} alone, or a sysctl")
        for key in table
        if key not in (*KEYS, *MAPPED, "preset")
    ]
    preset = table.get("preset", PRESET)
    if preset != PRESET:
        problems.append((("preset",), f"got {show(preset)}, expected {PRESET} with a kernel"))
    control = table.get("congestion_control")
    if control is not None and not (isinstance(control, str) and _CONTROL.fullmatch(control)):
        message = f'got {show(control)}, expected a name that the kernel knows, such as "bbr"'
        problems.append((("congestion_control",), message))
    elif control is not None and "control" in table:
        message = "got control too, expected one of them"
        problems.append((("congestion_control",), message))
    elif control is None and table.get("control", "cubic") not in CONTROLS:
        message = f"got {show(table['control'])}, expected one that kernels have: " + ", ".join(
            CONTROLS
        )
        problems.append((("control",), message))
    sysctl = _sysctl(table.get("sysctl", {}), problems)
    if problems:
        raise Refused(problems)
    return Stack(kernel, control if isinstance(control, str) else None, sysctl)


def _sysctl(given: object, problems: list[tuple[tuple[str, ...], str]]) -> dict[str, str]:
    """The values of a table of sysctls as text. Adds what is wrong to the problems."""
    if not isinstance(given, Mapping):
        expected = 'expected a table such as { "net.ipv4.tcp_ecn" = 1 }'
        problems.append((("sysctl",), f"got {show(given)}, {expected}"))
        return {}
    values = {}
    for name, value in given.items():
        text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if not _SYSCTL.fullmatch(str(name)):
            expected = 'expected names in quotes that begin with net., such as "net.ipv4.tcp_ecn"'
            problems.append((("sysctl",), f"got {show(str(name))}, {expected}"))
        elif not _SYSCTL_VALUE.fullmatch(text):
            expected = "expected a whole number, or words with one blank between them"
            problems.append((("sysctl", str(name)), f"got {show(value)}, {expected}"))
        values[str(name)] = text
    return dict(sorted(values.items()))
