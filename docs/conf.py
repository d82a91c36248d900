"""How the documentation is built: `make docs`."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import surefoot

project = "Surefoot"
author = "The Surefoot developers"
copyright = author
release = version = surefoot.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# MathJax comes from a package and its letters are drawn as paths: one file, and pages need no
# network. The package's own extension would copy all of its 24 MB.
MATHJAX = importlib.util.find_spec("sphinx-mathjax-offline")
assert MATHJAX is not None, "the docs need sphinx-mathjax-offline: pip install '.[dev]'"
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "furo"
html_title = f"Surefoot {release}"
html_static_path = [
    "static",
    str(Path(str(MATHJAX.origin)).parent / "static" / "mathjax" / mathjax_path),
]
html_css_files = ["phone.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_use_ivar = True

COLON = "\ue000"  # stands for a colon while napoleon would take what is before it for a type


def plain_to_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code`: give code its second backtick, and marks of RST their
    backslash.
    """
    for number, line in enumerate(lines):
        parts = re.split(r"(?<!`)(`[^`]+`)(?!`)", line)
        parts[::2] = [
            re.sub(r"\||(?<=\()\*", lambda mark: "\\" + mark[0], part) for part in parts[::2]
        ]
        parts[1::2] = [f"`{part}`" for part in parts[1::2]]
        lines[number] = "".join(parts)
        if what in ("property", "attribute"):
            lines[number] = lines[number].replace(":", COLON)


def colons_back(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what `plain_to_rst` did for napoleon's sake."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain_to_rst, priority=400)  # napoleon has 500
    app.connect("autodoc-process-docstring", colons_back, priority=600)
