"""Settings of the documentation's site: Sphinx reads the Markdown of the repository where it is.

Sphinx and not Zensical: its search works from file:// (Zensical's loads a worker from a CDN
there), it reports links that lead nowhere, and autodoc reads the docstrings, which are
reStructuredText.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "python")]

import marqueue  # noqa: E402

project = "marqueue"
author = "The marqueue authors"
project_copyright = "The marqueue authors. MIT or Apache 2.0"
version = release = marqueue.__version__

root_doc = "docs/index"
include_patterns = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
# Without the first line Sphinx walks through every folder of builds.
exclude_patterns = ["[!RACd]*", "docs/site", "**/.ipynb_checkpoints"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "inserts",
    "mathml",
    "accessibility",
    "diagrams",
]
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "target" / "notebooks")
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
# Of a widget its picture is shown: the page has no kernel, and the widgets' script would be from
# a CDN.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_merge_streams = True
nb_mime_priority_overrides = [
    ("html", "text/html", 0),
    ("html", "application/vnd.jupyter.widget-view+json", None),
]
# It would make one dash of the two of an option.
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
add_module_names = False
python_use_unqualified_type_names = True

# Rich's classes and the like are named in signatures and are not documented here.
nitpicky = False
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

html_theme = "furo"
html_title = "marqueue"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# Excerpts of found pages would be fetched, which browsers refuse from file://.
html_show_search_summary = False
html_additional_pages = {"index": "to_start.html"}
templates_path = ["templates"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5a8f", "color-brand-content": "#0b5a8f"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ee", "color-brand-content": "#7cc0ee"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
