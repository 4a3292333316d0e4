"""Settings of Sphinx for the site; :mod:`docs.site` prepares its pages."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.docstrings import setup  # noqa: E402, F401 - Sphinx calls it
from tooltrace.version import __version__  # noqa: E402

project = "tooltrace"
version = release = __version__
language = "en"
extensions = ["myst_parser", "sphinx.ext.autodoc"]

# Markdown: the anchors of headings are those of a repository browser.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]

# The Python API
autodoc_default_options = {
    "members": True,
    "undoc-members": False,
    "member-order": "bysource",
    "exclude-members": "model_config",
}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
nitpick_ignore_regex = [("py:(class|obj|data)", ".*")]  # annotations name types that have no entry here
suppress_warnings = ["ref.python"]  # "type" is the name of a field in several classes

# HTML
html_theme = "furo"
html_title = f"tooltrace {__version__}"
html_static_path = [str(ROOT / "docs" / "_static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b6e7f", "color-brand-content": "#0b6e7f"},
    "dark_css_variables": {"color-brand-primary": "#5cc1d0", "color-brand-content": "#5cc1d0"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
