"""Defaults that standards state (docs/standards): the declared parameters have them."""

from typing import Any

import pytest

from marqueue.scenario.catalogue import catalogue

# Who declares it, parameter, value in base units, RFC.
AQM_DEFAULTS = [
    ("codel", "target", 0.005, 8289),
    ("codel", "interval", 0.1, 8289),
    ("fq_codel", "target", 0.005, 8290),
    ("fq_codel", "interval", 0.1, 8290),
    ("fq_codel", "quantum", 1514.0, 8290),
    ("fq_codel", "queues", 1024.0, 8290),
    ("fq_codel", "ce_threshold", None, 8290),
    ("pie", "delay_ref", 0.015, 8033),
    ("pie", "t_update", 0.015, 8033),
    ("pie", "alpha", 1 / 8, 8033),
    ("pie", "beta", 1 + 1 / 4, 8033),
    ("pie", "max_burst", 0.15, 8033),
    ("pie", "mark_ecnth", 0.1, 8033),
]
TCP_DEFAULTS = [
    ("tcp", "dctcp_g", 1 / 16, 8257),
    ("tcp", "abe_beta", 0.8, 8511),
    ("tcp", "hystart_limit", 8.0, 9406),
]


def declared(owner: str, name: str) -> dict[str, Any]:
    aqms = {entry["name"]: entry["params"] for entry in catalogue()["aqms"]}
    parameters = catalogue()["tcp"] if owner == "tcp" else aqms[owner]
    [parameter] = [each for each in parameters if each["name"] == name]
    return parameter


@pytest.mark.parametrize(("owner", "name", "value", "rfc"), AQM_DEFAULTS + TCP_DEFAULTS)
def test_a_default_is_that_of_the_rfc(owner: str, name: str, value: float | None, rfc: int) -> None:
    parameter = declared(owner, name)
    assert parameter["default"] == value
    assert f"RFC {rfc}" in parameter["source"]
