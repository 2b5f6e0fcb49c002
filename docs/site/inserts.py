"""What is generated into pages, in the place of a comment ``<!-- insert: NAME ARGUMENT -->``.

In the repository the comment is not seen, and the page around it says where to look.
"""

import re

from aqm_parameters import aqm_table, parameters
from command_pages import commands
from demonstration import copy_lab, demonstration
from sphinx.application import Sphinx

PAGES = """\
```{toctree}
:hidden:
:glob:

**
```"""
"""Takes the pages beside and below this one into the site's tree."""

INSERTS = {
    "commands": commands,
    "aqm": lambda name: f"{demonstration(name)}\n\n{parameters(name)}",
    "aqms": aqm_table,
    "pages": lambda: PAGES,
}
COMMENT = re.compile(r"^<!-- insert: (\w+) ?(\w*) -->$", re.MULTILINE)


def insert(text: str) -> str:
    """The text of a page with what its comments name. Raises KeyError for an unknown name."""
    return COMMENT.sub(lambda found: INSERTS[found[1]](*filter(None, [found[2]])), text)


def _read(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = insert(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this once; the inserts take place whenever a page is read."""
    app.connect("source-read", _read)
    app.connect("build-finished", copy_lab)
    app.add_js_file("lab_frame.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
