"""An AQM at work: a command, and a link into the lab where that is part of the site."""

import base64
import shutil
import zlib
from pathlib import Path

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


def demonstration(name: str) -> str:
    """The section "Try it" of an AQM's page."""
    example = EXAMPLES.get(name, "first")
    own = f" --set topology.bottleneck.aqm={name}" if example in ("first", "mkc") else ""
    lines = ["## Try it", "", "```sh", f"marqueue run scenarios/{example}.toml{own}", "```"]
    if LAB.is_dir():
        lines += [
            "",
            f'<p><a class="lab" href="../../lab/index.html#s={_fragment(name, example)}">Open it '
            "in the lab</a>: it runs in the browser, with sliders and moving packets. Browsers "
            "start it only from a web server: <code>python3 -m http.server -d target/site</code>."
            "</p>",
        ]
    return "\n".join(lines)


def _fragment(name: str, example: str) -> str:
    """A scenario as the lab's links have it (web/src/lab/state/share.ts): deflated, URL-safe."""
    text = (ROOT / "scenarios" / f"{example}.toml").read_text(encoding="utf-8")
    for before, after in (
        ('aqm = "codel"', f'aqm = "{name}"'),
        ('{ name = "mkc",', f'{{ name = "{name}",'),
    ):
        text = text.replace(before, after, 1)
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def copy_lab(app: Sphinx, failed: Exception | None) -> None:
    """Puts the built lab beside the pages."""
    if failed is None and LAB.is_dir():
        shutil.copytree(LAB, Path(app.outdir) / "lab", dirs_exist_ok=True)
