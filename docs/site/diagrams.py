"""Diagrams in Mermaid's language, drawn in the page by the library of that name.

The library (web/package.json) lies beside the pages, so that they work offline. Without it, or with
scripts off, a diagram is the text that describes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

LIBRARY = Path(__file__).parents[2] / "web/node_modules/mermaid/dist/mermaid.min.js"


def _copy_library(_app: Sphinx, config: Config) -> None:
    if LIBRARY.exists():
        config.html_static_path.append(str(LIBRARY))


def _load(app: Sphinx, _page: str, _template: str, _context: dict[str, Any], tree: Any) -> None:
    """Only pages with a diagram load the library, which is large."""
    blocks = tree.findall(nodes.literal_block) if tree is not None else ()
    if LIBRARY.exists() and any(block.get("language") == "mermaid" for block in blocks):
        app.add_js_file(LIBRARY.name, loading_method="defer")
        app.add_js_file("diagrams.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this once."""
    app.connect("config-inited", _copy_library)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
