"""Internet access for a link: its packets are forwarded with the address of this machine (NAT).

All state is kept in the network namespace itself. Each link has an nftables table, which also lists
the devices on which the link enabled forwarding. If a process was killed, its table is left without
the device of the link; the next link to start or stop removes such tables.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path

from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.live.namespaces import setup_lock

DEVICE, TABLE = "mq-", "marqueue_"
"""Prefixes of the names of link devices and of their tables."""
SWITCHED = "switched_on"
FORWARDING = "/proc/sys/net/ipv4/conf/{}/forwarding"
RESOLVERS = Path("/etc/resolv.conf")


@contextmanager
def internet_access(
    device: str, addresses: Sequence[IPv4Interface | IPv6Interface]
) -> Iterator[None]:
    """Context manager: packets from the networks of ``addresses`` on ``device`` may leave this
    machine, and replies may return. Raises RunError if the machine cannot do it."""
    requirements.require(["nft"])
    table = TABLE + device.removeprefix(DEVICE)
    try:
        with setup_lock():
            said = json.loads(requirements.run("ip", "-json", "-4", "route"))
            others = {route["dev"] for route in said if not route["dev"].startswith(DEVICE)}
            off = sorted(each for each in others if not _forwards(each))
            requirements.run("nft", "-f", "-", given=_rules(table, device, addresses, off))
            for each in (device, *off):
                _switch(each, on=True)
        yield
    finally:
        with setup_lock():
            _undo(table)


def _rules(
    table: str, device: str, addresses: Sequence[IPv4Interface | IPv6Interface], off: list[str]
) -> str:
    elements = ", ".join(f'"{each}"' for each in off)
    sources = (f"ip{'6' * (a.version == 6)} saddr {a.network}" for a in addresses)
    return "\n".join(
        [
            f"table inet {table} {{",
            f"set {SWITCHED} {{ type ifname; {f'elements = {{ {elements} }}' * bool(off)}; }}",
            "chain out { type nat hook postrouting priority srcnat;",
            *(f'{each} oifname != "{device}" masquerade;' for each in sources),
            "}",
            "}",
            "",
        ]
    )


def remove_stale_tables() -> None:
    """Removes the tables of links whose devices are gone. The caller must hold the lock of
    :func:`setup_lock`."""
    if shutil.which("nft") is None:
        return
    there = {name for _, name in socket.if_nameindex()}
    try:
        tables = _tables()
    except RunError:
        # Of a kernel without nf_tables, where nothing can have been left. --internet says so.
        return
    for table in tables:
        if DEVICE + table.removeprefix(TABLE) not in there:
            _undo(table)


def _tables() -> dict[str, list[str]]:
    """The tables of links, each with the devices on which it enabled forwarding."""
    said = json.loads(requirements.run("nft", "-j", "list", "sets", "inet"))["nftables"]
    sets = (each["set"] for each in said if "set" in each)
    return {
        each["table"]: each.get("elem", [])
        for each in sets
        if each["table"].startswith(TABLE) and each["name"] == SWITCHED
    }


def _undo(table: str) -> None:
    """Removes a table and disables the forwarding that no other link needs. The table is deleted
    last, so that an interrupted removal can be repeated."""
    tables = _tables()
    if table not in tables:
        return
    for device in tables.pop(table):
        if tables:
            heir = min(tables)
            requirements.run("nft", f'add element inet {heir} {SWITCHED} {{ "{device}" }}')
        else:
            _switch(device, on=False)
    requirements.run("nft", f"delete table inet {table}")


def _forwards(device: str) -> bool:
    return Path(FORWARDING.format(device)).read_text(encoding="ascii").strip() == "1"


def _switch(device: str, *, on: bool) -> None:
    path = Path(FORWARDING.format(device))
    try:
        path.write_text(str(int(on)), encoding="ascii")
    except FileNotFoundError:
        # The device was removed in the meantime.
        return
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from None


def blocking_settings() -> list[str]:
    """Settings of this machine that will block packets or name resolution, a sentence each."""
    said = json.loads(requirements.run("nft", "-j", "list", "chains"))["nftables"]
    chains = (each["chain"] for each in said if "chain" in each)
    out = [
        f"Forwarded packets are dropped unless a rule accepts them (chain {each['name']} of table "
        f"{each['family']} {each['table']}): accept {DEVICE}* there, in and out."
        for each in chains
        if each.get("hook") == "forward" and each.get("policy") == "drop"
    ]
    words = [line.split() for line in RESOLVERS.read_text(encoding="utf-8").splitlines()]
    servers = [each[1] for each in words if each[:1] == ["nameserver"] and len(each) > 1]
    if servers and all(each.startswith("127.") or each == "::1" for each in servers):
        out.append(
            f"{RESOLVERS}: got {', '.join(servers)}, a resolver on this machine that the command "
            "cannot reach: configure a resolver elsewhere, or use addresses in place of names."
        )
    return out
