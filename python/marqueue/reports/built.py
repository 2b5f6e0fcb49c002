"""The script and the style sheet that draw charts in a page, built from web/src/report.

They are part of the wheel. In a checkout, ``make web`` builds them where node is installed; without
them a page has its tables and a static picture.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Built:
    """The files that are inside every page."""

    script: str
    style: str

    @property
    def digest(self) -> str:
        """The source expression that allows this script, and no other, by a content security
        policy."""
        digest = hashlib.sha256(self.script.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def built() -> Built | None:
    """The built files; None if they were not built."""
    folder = files("marqueue.reports") / "built"
    script, style = folder / "report.js", folder / "report.css"
    if not (script.is_file() and style.is_file()):
        return None
    # Neither may end the element that it is in.
    text = script.read_text(encoding="utf-8").strip().replace("</script", "<\\/script")
    return Built(text, style.read_text(encoding="utf-8").strip().replace("</", "<\\/"))
