"""An AQM at work: a command, and the lab in the page where that is part of the site."""

from __future__ import annotations

import base64
import shutil
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Tests load this file where Sphinx is not installed.
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "python" / "marqueue" / "lab" / "built"
"""The built lab; the site is whole without it."""

EXAMPLES = {
    "drq": "cpu",
    "drr_mkc": "mkc-tcp-two-queues",
    "mkc": "mkc",
    "mkc_lossfree": "mkc",
}
"""AQMs that need more than a link and TCP flows, with an example that has it."""


EMBEDDED = """
<details class="lab">
<summary>Run it on this page</summary>
<p>The scenario above in the <a href="{lab}">lab</a>, with sliders and moving packets. The first
time, its compiler of scenarios takes a few seconds. Browsers start it only from a web server:
<code>python3 -m http.server -d target/site</code>.</p>
<iframe hidden data-src="{lab}" title="The lab with the AQM {name}"></iframe>
</details>"""
"""The lab in a page. Its script (static/lab_frame.js) loads the frame once a reader opens it, so
that pages stay light."""


def demonstration(name: str) -> str:
    """The section "Try it" of an AQM's page."""
    example = EXAMPLES.get(name, "first")
    own = f" --set topology.bottleneck.aqm={name}" if example in ("first", "mkc") else ""
    command = f"## Try it\n\n```sh\nmarqueue run scenarios/{example}.toml{own}\n```\n"
    if not LAB.is_dir():
        return command
    link = f"../../lab/index.html#s={packed(demonstrated(name))}"
    return command + EMBEDDED.format(lab=link, name=name)


def demonstrated(name: str) -> str:
    """The scenario, in TOML, that shows this AQM."""
    example = EXAMPLES.get(name, "first")
    text = (ROOT / "scenarios" / f"{example}.toml").read_text(encoding="utf-8")
    for before, after in (
        ('aqm = "codel"', f'aqm = "{name}"'),
        ('{ name = "mkc",', f'{{ name = "{name}",'),
    ):
        text = text.replace(before, after, 1)
    return text


def packed(text: str) -> str:
    """A scenario as the lab's links have it (web/src/lab/state/share.ts): deflated, URL-safe."""
    packer = zlib.compressobj(9, wbits=-15)
    deflated = packer.compress(text.encode()) + packer.flush()
    return base64.urlsafe_b64encode(deflated).decode().rstrip("=")


def copy_lab(app: Sphinx, failed: Exception | None) -> None:
    """Puts the built lab beside the pages, in the place of an earlier one."""
    if failed is None and LAB.is_dir():
        place = Path(app.outdir) / "lab"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(LAB, place)
