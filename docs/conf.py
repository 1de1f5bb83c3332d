"""Sphinx configuration; build with `python -m sphinx docs docs/_build`."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import version as installed_version
from typing import Any

import skdp

project = "skdp"
author = "skdp developers"
project_copyright = "skdp developers"
version = release = installed_version("skdp")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "sensitivity_table.rst"]
default_role = "code"
smartquotes = False

html_theme = "pydata_sphinx_theme"
html_title = "skdp"
html_theme_options = {"show_prev_next": True, "navigation_with_keys": False}

# The API pages list what is in `__all__`, so that no list has to be kept by hand.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"front_door": skdp.__all__}  # described once, under skdp itself
autodoc_typehints = "none"  # the docstrings say the types, with shapes and units
numpydoc_show_class_members = False


def skip_foreign_members(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out methods that other libraries define and document."""
    if re.fullmatch(r"set_\w+_request", name):
        return True
    inner = inspect.unwrap(getattr(obj, "fget", None) or obj)
    module = getattr(inner, "__module__", None) or "skdp"
    return None if module.split(".")[0] == "skdp" else True


def setup(app: Any) -> None:
    """Connect the filter above."""
    app.connect("autodoc-skip-member", skip_foreign_members)
