"""Compiled code is never older than its sources, and never a reason to fail."""

from __future__ import annotations

import importlib
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot
from surefoot.system import compiled

PACKAGE = Path(surefoot.__file__).parent
QUIET = "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
SMALL = {  # a package with nothing but this module and two kernels, one of which calls the other
    "constants.py": "FACTOR = 2.0\n",
    "inner.py": "from surefoot.system.compiled import kernel\n"
    "from surefoot.constants import FACTOR\n"
    "@kernel\n"
    "def inner(x):\n"
    "    return FACTOR * x\n",
    "outer.py": "from surefoot import inner as inside\n"
    "from surefoot.system.compiled import kernel\n"
    "inner = inside.inner\n"
    "@kernel\n"
    "def outer(x):\n"
    "    return inner(x) + 1.0\n",
}
PROGRAM = """
from surefoot.outer import outer
print(outer(1.0))
stats = getattr(outer, "stats", None)
print(None if stats is None else sum(stats.cache_hits.values()))
print(None if stats is None else stats.cache_path)
"""
DAMAGE = """
import importlib, pathlib
from surefoot import outer

def ask():
    module = importlib.reload(outer)
    assert module.outer(1.0) == 3.0
    print("loaded" if module.outer.stats.cache_hits else "compiled")

ask()
for ending in ("nbi", "nbc"):
    (file,) = pathlib.Path(outer.outer.stats.cache_path).glob(f"outer.outer*.{ending}")
    whole = file.read_bytes()
    middle = len(whole) // 2
    for damage in (b"", whole[:middle], whole[:middle] + b"\\xff" * 32 + whole[middle + 32:]):
        ask()
        file.write_bytes(damage)
        ask()
ask()
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "site" / PACKAGE.name
    folder.mkdir(parents=True)
    for name, text in SMALL.items():
        (folder / name).write_text(text)
    (folder / "__init__.py").touch()
    (folder / "system").mkdir()
    (folder / "system" / "__init__.py").touch()
    shutil.copy(PACKAGE / "system" / "compiled.py", folder / "system")
    return folder


class Answer:
    """What a fresh process computes with a package."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        output, self.announced = process.communicate(timeout=300)
        assert process.returncode == 0, self.announced
        value, hits, folder = output.splitlines()
        self.value, self.loaded, self.folder = float(value), hits == "1", Path(folder)


def start(package: Path, program: str = PROGRAM, **variables: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-c", QUIET + program],
        env=environment | {"PYTHONPATH": str(package.parent)} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(package: Path, program: str = PROGRAM, **variables: str) -> Answer:
    return Answer(start(package, program, **variables))


def edit(file: Path, old: str, new: str) -> None:
    text, before = file.read_text(), file.stat().st_mtime
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    # Python itself tells an edit that keeps the size by the second in which it was made
    os.utime(file, (before + 2, before + 2))


def test_an_edit_of_a_constant_is_seen_and_the_new_code_takes_the_place_of_the_old(package):
    first, second = ask(package), ask(package)
    assert first.value == second.value == 3.0
    assert (first.loaded, second.loaded) == (False, True)
    assert first.announced.count("compiling") == 1
    assert second.announced == ""
    kept = sorted(path.name for path in first.folder.glob("*.nb?"))

    edit(package / "constants.py", "2.0", "5.0")
    edit(package / "outer.py", "@kernel", "\n\n@kernel")  # on another line
    assert ask(package).value == 6.0
    assert sorted(path.name for path in first.folder.glob("*.nb?")) == kept


def test_a_package_that_cannot_be_written_to(package, tmp_path):
    (package / "__pycache__").write_text("a file where the folder would be")
    home = tmp_path / "home"
    variables = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(tmp_path)}
    assert ask(package, **variables).folder.is_relative_to(home / "cache")

    shutil.rmtree(home)
    home.write_text("no folder")
    private = tmp_path / f"surefoot-{os.getuid()}"
    assert ask(package, **variables).folder.is_relative_to(private)
    assert ask(package, **variables).loaded
    assert private.stat().st_mode & 0o777 == 0o700
    private.chmod(0o777)  # others could put their code there: it is not used
    answer = ask(package, **variables)
    assert (answer.value, answer.loaded, str(answer.folder)) == (3.0, False, "None")


def test_the_folder_of_numbas_variable_is_used(package, tmp_path):
    folder = tmp_path / "elsewhere"
    assert ask(package, NUMBA_CACHE_DIR=str(folder)).folder.is_relative_to(folder)
    assert list(folder.rglob("*.nbc"))


def test_numba_can_be_switched_off(package):
    answer = ask(package, NUMBA_DISABLE_JIT="1")
    assert answer.value == 3.0
    assert answer.announced == ""
    assert not list(package.rglob("*.nbi"))


def test_damaged_code_is_compiled_again(package):
    process = start(package, DAMAGE)
    output, errors = process.communicate(timeout=300)
    assert output.split() == ["compiled"] + 6 * ["loaded", "compiled"] + ["loaded"], errors


def test_code_of_another_signature_is_not_taken(package):
    # two processes that save different signatures at once can write to one file
    both = PROGRAM.replace("print(outer(1.0))", "outer(1.0); print(outer(1))")
    (code,) = ask(package, both).folder.glob("outer.outer*.2.nbc")
    shutil.copy(code, code.with_name(code.name.replace(".2.", ".1.")))
    answer = ask(package)
    assert (answer.value, answer.loaded) == (3.0, False)


def test_code_that_cannot_be_saved_runs_all_the_same(package):
    # Numba loses object code if a callback of LLVM is disturbed
    lose = (
        "from numba.core.codegen import CPUCodeLibrary\n"
        "def lost(library): raise RuntimeError('no compiled object yet')\n"
        "CPUCodeLibrary.serialize_using_object_code = lost\n"
    )
    answer = ask(package, lose + PROGRAM)
    assert (answer.value, answer.loaded) == (3.0, False)
    assert not ask(package).loaded


def test_many_processes_may_start_at_once(package):
    answers = [Answer(process) for process in [start(package) for _ in range(3)]]
    assert {answer.value for answer in answers} == {3.0}
    assert ask(package).loaded


def test_a_library_call_says_nothing_and_a_process_says_it_once(caplog, capfd):
    caplog.set_level(logging.INFO)
    compiled._announce.cache_clear()
    compiled._announce()
    compiled._announce()
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    assert capfd.readouterr() == ("", "")


def test_the_sources_of_a_kernel_are_all_that_its_module_imports():
    files = compiled._sources(PACKAGE / "paper" / "glucose" / "lanes.py")
    names = {str(file.relative_to(PACKAGE)) for file in files}
    assert {
        "paper/glucose/lanes.py",
        "paper/glucose/model.py",
        "paper/glucose/day.py",
        "system/compiled.py",
    } <= names
    assert not any(name.startswith(("study/", "algorithms/")) for name in names)


def test_every_kernel_is_made_by_the_decorator_and_knows_the_sources_of_all_it_calls():
    files = list(PACKAGE.rglob("*.py"))
    assert sum("@kernel" in file.read_text() for file in files) > 3
    for file in files:
        text = file.read_text()
        if "@kernel" in text and file.name != "compiled.py":
            name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            kernels = [v for v in vars(importlib.import_module(name)).values() if _compiled(v)]
            called = {Path(kernel.py_func.__code__.co_filename) for kernel in kernels}
            assert called <= compiled._sources(file), name
        assert file.name == "compiled.py" or not re.search(r"\b(n?jit|g?u?vectorize)\b", text), file


def _compiled(value: object) -> bool:
    return hasattr(value, "py_func")
