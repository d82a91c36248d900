"""The table of contents: names stay what they are, whatever is imported first."""

import ast
import subprocess
import sys
from pathlib import Path

import surefoot


def test_every_public_name_is_there():
    assert {name for name in surefoot.__all__ if not hasattr(surefoot, name)} == set()


def test_a_module_never_hides_the_function_of_its_name():
    code = (
        "import surefoot, surefoot.study.plan, surefoot.complexity; assert "
        "callable(surefoot.complexity)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_see_the_same_names_from_the_same_places():
    source = ast.parse(Path(surefoot.__file__).read_text())
    (block,) = (node for node in source.body if isinstance(node, ast.If))
    seen = {(alias.name, alias.asname, line.module) for line in block.body for alias in line.names}
    assert seen == {(name, name, module) for name, module in surefoot._CONTENTS.items()}
