"""Mutants of the kernel: one small change each, which a test should notice.

`python -m tests.certify.mutants --sample 200` prints those that the tests of this folder let pass;
`--kernel` and `--tests` name another room and the tests of it.
Some changes are none (a reshape by −2, `>=` where both sides give the same, a shortcut not taken),
move a threshold of rounding, or are refused later on.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
KERNEL = "src/surefoot/certify"
# the saboteur is left out: it takes half a minute
FILES = ["refusals", "hostile", "by_hand", "scores", "boundary", "limited", "properties", "second"]
TESTS = [f"tests/certify/test_{name}.py" for name in FILES]
SEED, SECONDS = 1, 300
CHANGES = "Add Sub, Sub Add, Mult Div, Div Mult, Pow Mult, FloorDiv Div, Mod FloorDiv, BitOr BitAnd"
CHANGES += ", BitAnd BitOr, And Or, Or And, Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq"
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in map(str.split, CHANGES.split(","))}
OTHERS = "min max, max min, minimum maximum, maximum minimum, any all, all any"
NAMES = dict(map(str.split, OTHERS.split(",")))
TOLD = ast.Raise, ast.Assert, ast.ImportFrom, ast.Import, ast.JoinedStr  # no arithmetic in them


class Mutant(NamedTuple):
    """One small change of a file: at an expression, counted as `_arithmetic` walks, and upwards or
    downwards.
    """

    path: Path
    place: int
    change: int

    def written(self) -> tuple[str, str]:
        """Return the line that differs, and the text of the file."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        plain, node = ast.unparse(tree).splitlines(), list(_arithmetic(tree))[self.place]
        _changed(node, self.change)
        text = ast.unparse(tree)
        both = zip(plain, text.splitlines(), strict=False)
        was, now = next((a, b) for a, b in both if a != b)
        return f"{self.path.name}:{node.lineno}\n  - {was.strip()}\n  + {now.strip()}", text


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    for place, node in enumerate(_arithmetic(ast.parse(path.read_text(encoding="utf-8")))):
        for change in (-1, 1) if isinstance(node, ast.Constant) else (0,):
            if _changed(deepcopy(node), change):
                yield Mutant(path, place, change)


def _arithmetic(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Walk over expressions and statements, annotations and messages aside."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, TOLD):
                if isinstance(child, ast.expr | ast.stmt):
                    yield child
                yield from _arithmetic(child)


def _changed(node: ast.AST, change: int) -> bool:
    """Change a node in place, if there is a change for it."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare) and type(node.ops[-1]) in SWAPS:
        node.ops[-1] = SWAPS[type(node.ops[-1])]()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value += change
    elif isinstance(node, ast.Constant) and node.value is (change > 0):
        node.value = not node.value
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Attribute | ast.Name):
        name = "attr" if isinstance(node, ast.Attribute) else "id"
        if getattr(node, name) not in NAMES:
            return False
        setattr(node, name, NAMES[getattr(node, name)])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.Constant(None)  # the statement is gone
    else:
        return False
    return True


def survives(file: Path, text: str, tests: list[str], home: Path) -> bool:
    """Return whether no test fails while this text stands in for a file, in a copy of all."""
    kept = file.read_bytes()
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "PYTHONPATH": str(home / "src")}
    try:
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, timeout=SECONDS)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        file.write_bytes(kept)


def main() -> None:
    """Print the survivors among some mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="how many mutants")
    parser.add_argument("--kernel", default=KERNEL, help="a file or folder that is changed")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files that should notice")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, skipped = Path(folder) / "copy", shutil.ignore_patterns("__pycache__")
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, home / name, ignore=skipped)
        shutil.copy(ROOT / "pyproject.toml", home)
        kernel = home / given.kernel
        files = sorted(kernel.glob("*.py")) if kernel.is_dir() else [kernel]
        if not survives(files[0], files[0].read_text(encoding="utf-8"), given.tests, home):
            raise SystemExit("the tests fail without any mutant")
        every = [each for path in files for each in mutants(path)]
        chosen, left = random.Random(SEED).sample(every, min(given.sample, len(every))), 0
        for mutant in chosen:
            line, text = mutant.written()
            if survives(mutant.path, text, given.tests, home):
                left += 1
                print(line, flush=True)
    print(f"{left} of {len(chosen)} mutants survive, of {len(every)} there are")


if __name__ == "__main__":
    main()
