"""How the site is built: `scripts/docs` (or `sphinx-build -W docs target/site`)."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import boulevard

sys.path.insert(0, str(Path(__file__).parent))
ROOT = Path(__file__).resolve().parent.parent

project = "Boulevard"
author = "The Boulevard developers"
copyright = "the Boulevard developers"
version = release = boulevard.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "reference/templates"]
templates_path = ["reference/templates"]
# The pages are also read where they lie: links go to files, headings have anchors.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
# `rust,no_run` is how Rust's own tools mark a block that is compiled and not run.
suppress_warnings = ["config.cache"]

autosummary_generate = True
# The classes for clusters are described without a cluster.
autodoc_mock_imports = [name for name in ("dask", "distributed", "ray") if importlib.util.find_spec(name) is None]
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "groupwise"}

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "crates" / "boulevard-python" / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "plot_",
    # A failing example fails the build.
    "abort_on_example_error": True,
    "min_reported_time": 5,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "within_subsection_order": "ExampleTitleSortKey",
    "copyfile_regex": "",
}

html_theme = "pydata_sphinx_theme"
html_title = f"Boulevard {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Boulevard"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": [], "gallery/**": ["sidebar-nav-bs"]}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links to other sites are looked at with `scripts/docs --external` only.
linkcheck_timeout = 20
linkcheck_ignore = [r"http://127\.0\.0\.1.*"]


def skip_routing(app, what, name, obj, skip, options):
    """scikit-learn's own request methods are the same everywhere: its documents explain them."""
    return True if name.startswith("set_") and name.endswith("_request") else skip


def plain_signature(app, what, name, obj, options, signature, return_annotation):
    """Signatures without annotations, as scikit-learn's pages have them."""
    if signature is None or not callable(obj):
        return None
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return None
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty)), None


def mend_docstrings(app, what, name, obj, options, lines):
    """In a shape such as (n_features_in_,) a name that ends in an underscore is a name, not a link."""
    for place, line in enumerate(lines):
        if "of shape (" in line:
            head, _, shape = line.partition("of shape (")
            line = head + "of shape (" + re.sub(r"(?<![`\w])(\w+_)(?!\w)", r"``\1``", shape)
        # Methods that come from scikit-learn refer to pages of its own site.
        lines[place] = re.sub(r":ref:`(?:([^`<]+?)\s*<[^`>]+>|([^`]+))`", lambda found: found[1] or found[2], line)


def setup(app):
    # Before numpydoc makes its own text of the lines.
    app.connect("autodoc-process-docstring", mend_docstrings, priority=400)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-signature", plain_signature)
