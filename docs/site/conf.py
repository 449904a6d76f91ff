"""Sphinx configuration of the documentation site. `build.py` stages the sources and calls Sphinx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for the extension `mathml`

project = "Headway"
copyright = "the Headway developers"  # noqa: A001  (Sphinx' name)
root_doc = "index"

extensions = [
    "myst_nb",  # Markdown and notebooks
    "mathml",  # equations as MathML: no script, no fonts, nothing from elsewhere
    "sphinx.ext.autodoc",  # the Python package, from its docstrings
    "sphinx.ext.napoleon",  # which are in numpy's style
]

# Markdown: the anchors are those that hosts of repositories make of headings, so that links work in both places.
myst_heading_anchors = 6
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False  # "$5 and $6" is text
myst_dmath_allow_digits = False

# `stage` runs notebooks, once for each version of them and of the package.
nb_execution_mode = "off"

# Docstrings
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes are fields of their class, and no targets that types such as "path" could mean
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["matplotlib", "numpy"]  # headway.plot is documented where it cannot draw, too

# TOML in pages is a part of a scenario more often than not, with `…` where something is left out. Types in docstrings
# are words such as "path", which several classes have as an attribute, too.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]
highlight_language = "none"  # indented blocks are terminal sessions and formulae

# HTML: everything is local. The theme has no web fonts; its link to itself in the footer is text for readers.
html_theme = "furo"
html_title = "Headway"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_permalinks_icon = "#"
# Summaries of search results are read with `fetch`, which browsers forbid for pages opened as files.
html_show_search_summary = False
