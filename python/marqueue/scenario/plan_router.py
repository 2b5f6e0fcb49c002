"""What tc is told for a link whose queue is a qdisc of a kernel."""

from collections.abc import Mapping
from typing import Any

from marqueue.scenario.compilation import Compilation, Plan
from marqueue.scenario.qdisc import DEFAULT_KERNEL, PREFIX, QDISCS, Qdisc
from marqueue.units import Quantity, Size

ETHERNET = 14
"""Bytes of the link layer's header, which a qdisc counts in a packet."""


def router_entry(
    c: Compilation, path: str, name: str, given: Mapping[str, Any], link: Mapping[str, Any]
) -> Plan:
    """The entry of the plan for a link's qdisc: the kernel, and what tc is told.

    ``link`` has ``buffer``, ``signal``, ``packet`` (bytes) and ``rate`` (bit/s).
    """
    kind = name.removeprefix(PREFIX)
    qdisc = QDISCS[kind]
    options = str(given.get("options", "")).split()
    words = [*options, *_limit(c, path, name, qdisc, options, link)]
    needed = {"avpkt": f"{link['packet'] + ETHERNET}", "bandwidth": f"{link['rate']}bit"}
    for each in qdisc.needs:
        words += [] if each in options else [each, needed[each]]
    words += _ecn(c, path, name, qdisc, options, link["signal"])
    commands = [str(each) for each in given.get("commands", [])]
    handle = ["handle", "1:"] if commands else []
    entry = {
        "kernel": given.get("kernel", DEFAULT_KERNEL),
        "tc": [" ".join(["qdisc", "add", "root", *handle, kind, *words]), *commands],
    }
    if "ring" in given:
        entry["byte_queue_limit"] = (given["ring"] - 1) * (link["packet"] + ETHERNET)
    return entry


def _limit(
    c: Compilation,
    path: str,
    name: str,
    qdisc: Qdisc,
    options: list[str],
    link: Mapping[str, Any],
) -> list[str]:
    """The buffer as an option, unless the scenario gives this option itself."""
    buffer: Quantity = link["buffer"]
    if qdisc.limit is None or "limit" in options:
        return []
    if qdisc.limit == "packets" and isinstance(buffer, Size):
        c.refuse(f"{path}.buffer", f"got {buffer}, expected packets: {name} counts them")
        return []
    in_bytes = (
        buffer.base if isinstance(buffer, Size) else buffer.base * (link["packet"] + ETHERNET)
    )
    return ["limit", str(buffer.base if qdisc.limit == "packets" else in_bytes)]


def _ecn(
    c: Compilation, path: str, name: str, qdisc: Qdisc, options: list[str], signal: str
) -> list[str]:
    """The option for marks, unless the scenario gives it itself."""
    if {"ecn", "noecn"} & set(options):
        return []
    if signal == "ecn-only":
        c.refuse(f"{path}.signal", f"got ecn-only, expected ecn or drop with {name}")
    if signal == "drop" and qdisc.ecn == "always":
        c.refuse(f"{path}.signal", f"got drop, expected ecn: {name} marks what it can")
    if signal == "drop" and qdisc.ecn == "default":
        return ["noecn"]
    return ["ecn"] if signal == "ecn" and qdisc.ecn == "option" else []
