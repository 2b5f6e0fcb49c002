"""What is embedded in the page of a report for its script."""

import json
import re
import zlib
from typing import Any

import pytest

from marqueue.reports.built import built

needs_script = pytest.mark.skipif(
    built() is None, reason="the script of reports is not built: make web needs node"
)


def embedded(page: str) -> dict[str, Any]:
    """The data in a page, if they are whole."""
    [(crc, text)] = re.findall(
        r'<script type="application/json" id="report-data" data-crc32="(\d+)">(.*?)</script>', page
    )
    assert zlib.crc32(text.encode()) == int(crc)
    data: dict[str, Any] = json.loads(text)
    return data
