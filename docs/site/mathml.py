"""Formulas as MathML, which browsers draw themselves: no script and no fonts are loaded."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _visit(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{tex2mathml(node.astext())}</span>')
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    # An empty line ends a paragraph of LaTeX and means nothing in a formula.
    formula = re.sub(r"\n\s*\n", "\n", node.astext())
    self.body.append(f'<div class="math" tabindex="0">{tex2mathml(formula, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the renderer."""
    app.add_html_math_renderer("mathml", (_visit, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
