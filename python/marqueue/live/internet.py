"""The way beyond the machine: packets of a link are forwarded, and leave as if they were its own.

What is to be undone stands where it was done, in the network namespace: a table of nftables for
each link, with the devices on which it switched forwarding on. The table of a link whose device is
gone is nobody's, however its process ended; who comes next undoes it.
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
from marqueue.live.namespaces import one_at_a_time

DEVICE, TABLE = "mq-", "marqueue_"
"""What names begin with: those of the devices of links on this side, and of their tables."""
SWITCHED = "switched_on"
FORWARDING = "/proc/sys/net/ipv4/conf/{}/forwarding"
RESOLVERS = Path("/etc/resolv.conf")


@contextmanager
def way_out(device: str, addresses: Sequence[IPv4Interface | IPv6Interface]) -> Iterator[None]:
    """While it lasts, what comes from the networks of ``addresses`` by ``device`` may leave this
    machine, and what answers it may come back. Raises RunError if the machine cannot do it."""
    requirements.require(["nft"])
    table = TABLE + device.removeprefix(DEVICE)
    try:
        with one_at_a_time():
            said = json.loads(requirements.run("ip", "-json", "-4", "route"))
            others = {route["dev"] for route in said if not route["dev"].startswith(DEVICE)}
            off = sorted(each for each in others if not _forwards(each))
            requirements.run("nft", "-f", "-", given=_rules(table, device, addresses, off))
            for each in (device, *off):
                _switch(each, on=True)
        yield
    finally:
        with one_at_a_time():
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


def sweep() -> None:
    """Undoes what links have left whose devices are gone. Whoever calls has the turn."""
    if shutil.which("nft") is None:
        return
    there = {name for _, name in socket.if_nameindex()}
    for table in _tables():
        if DEVICE + table.removeprefix(TABLE) not in there:
            _undo(table)


def _tables() -> dict[str, list[str]]:
    """The tables of links, and on which devices each switched forwarding on."""
    said = json.loads(requirements.run("nft", "-j", "list", "sets", "inet"))["nftables"]
    sets = (each["set"] for each in said if "set" in each)
    return {
        each["table"]: each.get("elem", [])
        for each in sets
        if each["table"].startswith(TABLE) and each["name"] == SWITCHED
    }


def _undo(table: str) -> None:
    """Whoever is killed here has not deleted the table, and leaves the rest to the next."""
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
        # The device has gone meanwhile.
        return
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from None


def obstacles() -> list[str]:
    """What will keep packets or names from their way, as far as it can be seen, a sentence each."""
    said = json.loads(requirements.run("nft", "-j", "list", "chains"))["nftables"]
    chains = (each["chain"] for each in said if "chain" in each)
    out = [
        f"What is forwarded is dropped unless a rule accepts it (chain {each['name']} of table "
        f"{each['family']} {each['table']}): accept {DEVICE}* there, in and out."
        for each in chains
        if each.get("hook") == "forward" and each.get("policy") == "drop"
    ]
    words = [line.split() for line in RESOLVERS.read_text(encoding="utf-8").splitlines()]
    servers = [each[1] for each in words if each[:1] == ["nameserver"] and len(each) > 1]
    if servers and all(each.startswith("127.") or each == "::1" for each in servers):
        out.append(
            f"{RESOLVERS}: got {', '.join(servers)}, which is another machine's own for the "
            "command: give it a resolver beyond the machine, or addresses in place of names."
        )
    return out
