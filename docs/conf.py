"""Sphinx: the documentation as a site. `make site` builds it; the sources are the Markdown files of the checkout."""

from pathlib import Path

from sphinx.application import Sphinx

project = "Spinewise"
copyright = "Spinewise contributors, Apache License 2.0"  # noqa: A001 - the name is Sphinx's

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Pages link to each other as they do in the checkout, so the checkout is the source folder.
root_doc = "docs/index"
include_patterns = ["docs/**.md", "*.md"]
myst_heading_anchors = 4
# A block in a language that the highlighter does not know is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
myst_enable_extensions = ["colon_fence"]
# The README is about the checkout, and the site has a first page of its own.
exclude_patterns = ["README.md"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_use_rtype = False

html_theme = "furo"
html_title = "Spinewise"
html_copy_source = False
html_show_sphinx = False


def to_first_page(app: Sphinx, error: Exception | None) -> None:
    """Lead from the root of the site to its first page."""
    if error is None:
        page = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><title>Spinewise</title>\n'
        Path(app.outdir, "index.html").write_text(page)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", to_first_page)
