"""What the theme leaves out for those who read with a keyboard or a screen reader."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

CAPTION = 'class="caption" role="heading"'


def _level(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """The captions of the navigation are headings, which need a level."""
    navigation = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = navigation.replace(CAPTION, f'{CAPTION} aria-level="2"')


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this once."""
    # After the theme, which makes the navigation at the same event.
    app.connect("html-page-context", _level, priority=900)
    app.add_js_file("scrollable.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
