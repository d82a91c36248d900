"""The table of contents: names stay what they are, whatever is imported first."""

import subprocess
import sys

import surefoot


def test_every_public_name_is_there():
    assert {name for name in surefoot.__all__ if not hasattr(surefoot, name)} == set()


def test_a_module_never_hides_the_function_of_its_name():
    code = "import surefoot, surefoot.study.plan, surefoot.complexity; assert callable(surefoot.complexity)"
    subprocess.run([sys.executable, "-c", code], check=True)
