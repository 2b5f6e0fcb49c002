"""Where Linux handles the packets that a link delivers: receive packet steering (RPS,
Documentation/networking/scaling.rst of Linux).

Without it the link's thread does the work of the receivers: Linux takes a packet that is written to
a TUN device through IP and TCP, and wakes its reader, before the write returns. That is most of the
time that a packet costs the thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from marqueue.errors import RunError
from marqueue.live import isolation, requirements

GROUP = 32
"""Processors in a group of digits of a mask."""


def steer(namespace: str | None, device: str) -> bool:
    """Has the packets of a device handled on the processors of senders and receivers. Returns false
    if that cannot be had: on a machine with one processor, or without RPS in its kernel."""
    others = requirements.processors()
    if len(requirements.allowed()) == 1 and not isolation.is_isolated():
        return False
    file = f"/sys/class/net/{device}/queues/rx-0/rps_cpus"
    # Only a sysfs that is mounted within the namespace shows its devices.
    text = f"mount -t sysfs sysfs /sys && echo {mask(others)} > {file}"
    command = ["unshare", "--mount", "sh", "-c", text]
    try:
        requirements.run(*(requirements.inside(namespace, command) if namespace else command))
    except RunError:
        return False
    return True


def mask(cpus: Iterable[int]) -> str:
    """The mask of these processors as sysfs takes it: hexadecimal, with a comma between groups."""
    bits = sum(1 << cpu for cpu in cpus)
    groups: list[int] = []
    while bits or not groups:
        groups.append(bits % (1 << GROUP))
        bits >>= GROUP
    first, *rest = reversed(groups)
    return ",".join([f"{first:x}", *(f"{group:08x}" for group in rest)])
