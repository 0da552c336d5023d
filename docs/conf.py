"""The documentation: ``make docs``. Nothing is fetched, here or by the pages."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import mixnet

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "reference"))
sys.path.insert(0, str(HERE))

import bring_notebooks  # noqa: E402
import build_api  # noqa: E402

project = "mixnet"
copyright = "the mixnet contributors"
version = release = mixnet.libinfo._PACKAGE_VERSION

extensions = ["myst_nb", "mixnet.widgets.sphinx", "files_directive", "live_views", "check_offline"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["**.ipynb_checkpoints"]
nitpicky = False
suppress_warnings: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are stored frozen: what is seen is what was run
python_use_unqualified_type_names = True
toc_object_entries = False  # a page has hundreds of functions

html_theme = "furo"
html_title = "mixnet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["operators.js", "scrolling.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"source_repository": "", "navigation_with_keys": True}


def _link_to_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """In the checkout, pages link to the notebooks themselves."""
    source[0] = bring_notebooks.with_pages(source[0])


def setup(app: Sphinx) -> None:
    """What is built from the code, before the pages are read."""
    app.connect("source-read", _link_to_pages)
    bring_notebooks.bring(HERE.parent / "notebooks", HERE / "notebooks")
    build_api.write(HERE / "reference" / "api")
