"""What users install: the wheel and the sdist build, and the wheel works far away from this
repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.documents import ROOT

EVERYTHING = """
import importlib, pathlib, pkgutil, sys
import surefoot as sf
from surefoot.paper.glucose import all_patients

assert pathlib.Path(sf.__file__).is_relative_to(sys.prefix), sf.__file__
for name in sf.__all__:
    getattr(sf, name)
for module in pkgutil.walk_packages(sf.__path__, "surefoot."):
    importlib.import_module(module.name)
print(len(all_patients()), "virtual patients")
"""
A_RUN = """
import surefoot as sf

problem = sf.RobustProblem.paper([[1.0, 0.0], [0.0, 1.0]], [[[0.0, 0.0], [0.1, 0.0]]] * 2)
simulator = sf.LinearSimulator(problem, [1.0, 0.2], seed=0)
result = sf.identify(problem, simulator, delta=0.1, noise=sf.Gaussian(1.0), misfit=0)
assert result.certified and result.arm_name in result.to_html()
print(result.sentence)
"""
UNCOMPILED = {
    "NUMBA_DISABLE_JIT": "1"
}  # to compile the kernels anew, for this wheel alone, would take long


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel; its dependencies are those of this
    environment.
    """
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    wheel = next(built.glob("*.whl"))
    _run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
    )
    own = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # searched after what is installed here
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin"


def test_the_wheel_holds_all_that_the_package_needs(built: Path) -> None:
    names = zipfile.ZipFile(next(built.glob("*.whl"))).namelist()
    source = ROOT / "src"
    needed = [
        path
        for path in (source / "surefoot").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {str(path.relative_to(source)) for path in needed} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "docs", "examples"))]


def test_the_sdist_holds_tests_docs_and_examples(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "README.md",
        "Makefile",
        "tests/test_package.py",
        "docs/conf.py",
        "examples/quickstart.py",
        "CITATION.cff",
    }
    assert wanted <= names
    assert not [
        name for name in names if name.endswith(".db") and not name.startswith("tests/data/")
    ]


def test_everything_can_be_imported_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    assert _run(installed / "python", "-c", EVERYTHING, folder=tmp_path) == "30 virtual patients\n"


def test_a_problem_is_solved_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    assert "has the best worst case" in _run(
        installed / "python", "-c", A_RUN, folder=tmp_path, **UNCOMPILED
    )


def test_the_commands_work_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    program = installed / "surefoot"
    assert "cite" in _run(program, "--help", folder=tmp_path)
    _run(program, "init", folder=tmp_path)
    assert "95 % confidence" in _run(
        program, "run", "-q", "--processes", "1", folder=tmp_path, **UNCOMPILED
    )
    assert "study.html" in _run(program, "report", folder=tmp_path, **UNCOMPILED)
    assert (tmp_path / "study.html").stat().st_size > 10_000


def _run(*command: object, folder: Path | None = None, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
