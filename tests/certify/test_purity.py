"""The kernel stays small and imports nothing clever."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot.certify

MOST_LINES = 1020  # of which limits take 150, mixtures 40
FOLDER = Path(surefoot.certify.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))
BESIDE = [FOLDER.parent / f"{name}.py" for name in ("arrays", "errors", "statistics")]
COUNTED = [path for path in BESIDE if path.stem != "errors"]  # that words what is refused
STANDARD = {"__future__", "abc", "collections", "copy", "dataclasses", "functools", "math"}
ALLOWED = STANDARD | {"typing", "numpy", "scipy.special", "surefoot.certify"}
ALLOWED |= {f"surefoot.{path.stem}" for path in BESIDE}
FORBIDDEN = {"open", "print", "input", "eval", "exec", "__import__", "globals", "setattr"}
FORBIDDEN |= {"random", "load", "save", "loadtxt", "savetxt", "fromfile", "tofile", "memmap"}


@pytest.mark.parametrize("path", [*MODULES, *COUNTED], ids=lambda path: path.stem)
def test_modules_import_only_what_is_allowed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        for name in names:
            inside = any(f"{name}.".startswith(f"{allowed}.") for allowed in ALLOWED)
            assert inside, f"{path.name} imports {name}"
        said = getattr(node, "id", getattr(node, "attr", None))
        assert said not in FORBIDDEN, f"{path.name} uses {said}"


def test_nothing_else_of_the_package_is_loaded_with_the_kernel() -> None:
    told = "print(*(name for name in sys.modules if name.split('.')[0] in ('surefoot', 'numba')))"
    command = [sys.executable, "-c", f"import sys, surefoot.certify; {told}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = {"surefoot", "surefoot.certify", *(f"surefoot.{path.stem}" for path in BESIDE)}
    expected |= {f"surefoot.certify.{path.stem}" for path in MODULES if path.stem != "__init__"}
    assert set(done.stdout.split()) == expected


def test_the_kernel_can_be_read_in_an_afternoon() -> None:
    """Lines of code: documentation, blank lines and the list of names aside."""
    read = [path for path in MODULES if path.stem != "__init__"]
    assert sum(lines_of_code(path.read_text()) for path in read) <= MOST_LINES


def lines_of_code(source: str) -> int:
    documented = ast.Module, ast.ClassDef, ast.FunctionDef
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(bool(line.split("#")[0].strip()) and number not in told for number, line in lines)
