"""Equations as MathML, which browsers draw by themselves.

Sphinx' own renderers need MathJax, a large script that comes from elsewhere by default, or TeX on the machine that
builds.
"""

from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def mathml(latex: str, display: str) -> str:
    """Return the formula as a ``<math>`` element; `display` is ``inline`` or ``block``."""
    try:
        return convert(latex, display=display)
    except Exception as error:  # the library has an exception for each mistake, without a common parent
        raise ExtensionError(f"not a formula: {latex!r}: {type(error).__name__} {error}") from error


def visit_inline(translator, node) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise _skip()


def visit_block(translator, node) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
