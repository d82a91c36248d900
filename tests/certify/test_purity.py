"""The kernel stays small and imports nothing clever."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import surefoot.certify

MOST_LINES = 940  # of which limits take 150
FOLDER = Path(surefoot.certify.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))
ALLOWED = {"numpy", "numpy.typing", "scipy", "scipy.special"} | {
    f"surefoot.{name}" for name in ("arrays", "errors", "statistics")
}
IMPURE = {"io", "os", "pathlib", "random", "shutil", "socket", "subprocess", "tempfile", "time"}
IMPURE |= {"datetime", "sqlite3", "threading"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_import_only_what_is_allowed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "scipy":
                assert [each.name for each in node.names] == ["special"]
        for name in names:
            inside = name.split(".")[:2] == ["surefoot", "certify"]
            standard = name.split(".")[0] in sys.stdlib_module_names - IMPURE
            assert inside or standard or name in ALLOWED, f"{path.name} imports {name}"
        if isinstance(node, ast.Name):
            assert node.id not in ("open", "print", "input", "eval", "exec", "__import__")


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
