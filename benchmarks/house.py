"""The house in numbers: files, lines, names, sentences, and how far one pull walks."""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import surefoot as sf
from benchmarks.table import Row

HOME = Path(sf.__file__).parent
ROOT = HOME.parents[1]
SHORT = 60  # lines
# one noise, guide, command or algorithm is a file, however short
EXTENSIONS = ("algorithms/", "commands/", "guides/", "noise/", "plan/guides/")
RIDDLES = ("What", "How", "Whether", "Who")
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
PAIRS, MODEL = float("inf"), 0.0


def sources() -> list[Path]:
    """Return the files of the package."""
    return sorted(HOME.rglob("*.py"))


def place_of(file: Path) -> str:
    """Return a file's place in the package."""
    return str(file.relative_to(HOME))


def lines_of(file: Path) -> int:
    """Count the lines of a file."""
    return len(file.read_text(encoding="utf-8").splitlines())


def definitions(file: Path, inner: bool = True) -> Iterator[Named]:
    """Yield the functions and classes of a file, those inside others only if `inner`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if inner else iter(tree.body)
    yield from (node for node in nodes if isinstance(node, Named))


def splinters() -> list[str]:
    """List the files shorter than SHORT lines that are neither an extension nor names alone."""
    return [
        place_of(file)
        for file in sources()
        if file.name not in ("__init__.py", "__main__.py")
        if lines_of(file) < SHORT and not place_of(file).startswith(EXTENSIONS)
    ]


def classes_named_alike() -> dict[str, list[str]]:
    """Return each name that two or more classes have, and their files."""
    homes: dict[str, list[str]] = {}
    for file in sources():
        for node in definitions(file):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(place_of(file))
    return {name: files for name, files in sorted(homes.items()) if len(files) > 1}


def public_names() -> list[str]:
    """List the functions and classes of modules whose names begin with a letter."""
    return [
        f"{place_of(file)}: {node.name}"
        for file in sources()
        for node in definitions(file, inner=False)
        if not node.name.startswith("_")
    ]


def riddles() -> list[str]:
    """List what has a docstring that opens with a question word."""
    return [
        f"{place_of(file)}: {node.name}"
        for file in sources()
        for node in definitions(file)
        if (ast.get_docstring(node) or " ").split(" ")[0].rstrip(",:") in RIDDLES
    ]


def docstrings() -> int:
    """Count the functions and classes that have a docstring."""
    return sum(bool(ast.get_docstring(node)) for file in sources() for node in definitions(file))


def entered(work: Callable[[], Any]) -> set[str]:
    """Return the files of the package of which any function is called."""
    seen: set[str] = set()

    def notice(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {name.removeprefix(f"{HOME}/") for name in seen if name.startswith(f"{HOME}/")}


def one_phase(misfit: float) -> set[str]:
    """Return the files of one counted phase of `identify`, the fifth of its run."""
    run, simulator = _begun(misfit)

    def phase() -> None:
        planned = run.next_phase()
        assert planned is not None
        run.update(simulator.pull(planned))

    for _ in range(4):  # what is built once is built here, and the pilot is over
        phase()
    return entered(phase)


def whole_study() -> set[str]:
    """Return the files of a whole run of a small study that trusts no model."""
    problem, _ = _small()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        with sf.Study.create(path, problem, delta=0.05, noise=sf.Gaussian(), seed=1) as study:
            return entered(lambda: study.run(_simulate, "serial"))


def megabytes() -> float:
    """Return the size of what `pip install surefoot` brings, without compiled Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted, known = list(project["dependencies"]), set()
    while wanted:
        needed, _, condition = wanted.pop().partition(";")
        found = re.match(r"[\w.-]+", needed)
        if found and not condition and found[0].lower() not in known:
            known.add(found[0].lower())
            wanted += metadata.requires(found[0]) or ()
    files = [file for name in known for file in metadata.files(name) or ()]
    places = {Path(str(file.locate())) for file in files if file.suffix != ".pyc"}
    return sum(place.stat().st_size for place in places if place.exists()) / 1e6


def rows() -> Iterator[Row]:
    """Yield one row for each number."""
    files = sources()
    lines = [lines_of(file) for file in files]
    yield _row("source files", len(files), 190)
    yield _row("lines of the sources", sum(lines), 26_000)
    tenths = statistics.quantiles(lines, n=10)
    yield Row(
        "lines of a file: median, p90, most", f"{tenths[4]:.0f}, {tenths[8]:.0f}, {max(lines)}"
    )
    yield _row(f"files below {SHORT} lines that are no extension", len(splinters()), 15)
    yield _row("files entered by a phase, pairs", len(one_phase(PAIRS)), 14)
    yield _row("files entered by a phase, model", len(one_phase(MODEL)), 14)
    yield _row("files entered by a whole Study.run", len(whole_study()), 40)
    yield _row("class names that occur twice", len(classes_named_alike()), 0)
    yield _row("public functions and classes of modules", len(public_names()), 400)
    share = 100 * len(riddles()) / docstrings()
    yield Row("docstrings that open with a question word", f"{share:.1f} %", "≤ 1 %", share <= 1)
    tests = sum(lines_of(file) for file in (ROOT / "tests").rglob("*.py"))
    yield _row("lines of the tests", tests, 20_000)
    size = megabytes()
    yield Row("packages of pip install surefoot", f"{size:.0f} MB", "≤ 420 MB", size <= 420)


def _row(work: str, number: int, most: int) -> Row:
    return Row(work, f"{number:,}", f"≤ {most:,}", number <= most)


def _small() -> tuple[sf.RobustProblem, list[float]]:
    """Four arms with three pairs each, in two dimensions."""
    arms = [[1.0, 0.0], [0.8, 0.3], [0.5, 0.5], [0.0, 1.0]]
    losses = [[[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]] * 4
    pairs = [[x - y for x, y in zip(arm, loss, strict=True)] for arm in arms for loss in losses[0]]
    owners = [arm for arm in range(4) for _ in range(3)]
    return sf.RobustProblem.from_pairs(pairs, owners), [1.0, 0.2]


def _begun(misfit: float) -> tuple[Any, sf.LinearSimulator]:
    from surefoot.algorithms import algorithm_from
    from surefoot.algorithms.settings import Settings

    problem, theta = _small()
    settings = Settings(delta=0.05, noise=sf.Gaussian(), misfit=misfit)
    run = algorithm_from("prime").start(problem, settings)
    return run, sf.LinearSimulator(problem, theta, seed=1)


def _simulate(pull: sf.Pull) -> float:
    return float(pull.features @ [1.0, 0.2] + 0.3 * pull.rng().normal())
