"""The scenarios that the pages of AQMs run in the lab (docs/site/demonstration.py)."""

import base64
import sys
import zlib

import pytest

from marqueue import from_toml
from marqueue.scenario.parameters import aqms
from pages import ROOT

sys.path.append(str(ROOT / "docs" / "site"))

import demonstration


@pytest.mark.parametrize("name", aqms())
def test_the_page_of_an_aqm_runs_a_scenario_that_has_it(name: str) -> None:
    scenario = from_toml(demonstration.demonstrated(name))
    chosen = {queue["name"] for queue in queues(scenario.to_dict())}
    assert name in chosen


def queues(value: object) -> list[dict[str, str]]:
    """The tables of AQMs in a scenario: values of keys ``aqm``."""
    if isinstance(value, list):
        return [found for each in value for found in queues(each)]
    if not isinstance(value, dict):
        return []
    own = [value["aqm"]] if isinstance(value.get("aqm"), dict) else []
    return own + [found for each in value.values() for found in queues(each)]


def test_a_link_holds_the_text_of_its_scenario() -> None:
    text = demonstration.demonstrated("pie")
    link = demonstration.packed(text)
    unpadded = base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))
    assert zlib.decompress(unpadded, wbits=-15).decode() == text


def test_a_page_without_the_lab_has_the_command_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstration, "LAB", ROOT / "no such folder")
    page = demonstration.demonstration("pie")
    assert "marqueue run scenarios/first.toml --set topology.bottleneck.aqm=pie" in page
    assert "lab" not in page
