"""Studies that were begun here go on under other processors, and finished ones are checked there.

What the numerical libraries may do differently is set by their own switches, in a process of its
own: `python -m tests.chaos.processors FOLDER` does the work there, under any Python that has them.
Where `python tests/oldest.py` has made its environment, or SUREFOOT_OLDEST names the Python of one,
the lowest permitted versions are one more place to go on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import surefoot as sf
from tests.chaos.edits import command
from tests.chaos.trial import Trial
from tests.chaos.varied import KINDS, Truth, make, with_budget

# what numpy has beyond its baseline; names that a build does not know are ignored
PLAIN = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
OTHERS = {
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "plain numpy": {"NPY_DISABLE_CPU_FEATURES": PLAIN, "OPENBLAS_CORETYPE": "Prescott"},
}
OLDEST = Path(__file__).parents[2] / ".venv-oldest" / "bin" / "python"


@dataclass(frozen=True)
class Processors:
    """Moves of studies to these kinds of processors, and to the lowest permitted versions."""

    names: tuple[str, ...] = tuple(OTHERS)

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        """One trial per study and kind of processor."""
        for number in generator.permutation(KINDS)[:count].tolist():
            make(number, folder / f"study-{number}", generator)
        for name in self.names:
            yield from _moved(folder, name, sys.executable, os.environ | OTHERS[name])
        oldest = os.environ.get("SUREFOOT_OLDEST", str(OLDEST))
        if Path(oldest).exists():
            yield from _moved(folder, "oldest versions", oldest, dict(os.environ))


def _moved(folder: Path, name: str, python: str, environment: dict[str, str]) -> Iterator[Trial]:
    command = [python, "-m", "tests.chaos.processors", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        yield Trial(name, f"it ended with code {done.returncode}: {done.stderr[-2000:]}")
        return
    for line in done.stdout.splitlines():
        found = json.loads(line)
        yield Trial(f"{found['study']} under {name}: {found['what']}", found["broken"])


def go_on(folder: Path) -> tuple[str, str | None]:
    """Go on with a study and check it and the finished one; gives what came of it."""
    truth = Truth(**json.loads((folder / "truth.json").read_text()))
    begun, config = folder / "begun.db", folder / "study.toml"
    if config.exists():
        study = with_budget(config, begun, truth.budget).open_study()
    else:
        study = sf.Study.open(begun)
        if truth.changeable:
            study.change(budget=truth.budget)
    with study:
        result = study.run(truth, "serial")
    broken = [_wrong(begun, result, truth), _wrong(folder / "done.db", None, truth)]
    what = f"{result.samples} pulls, {'certified' if result.certified else result.reason.name}"
    return what, next(filter(None, broken), None)


def _wrong(path: Path, result: sf.Result | None, truth: Truth) -> str | None:
    """Say what is wrong with a study that has come to its end."""
    found = sf.verify(path)
    if not found.intact:
        return found.sentence
    with sf.StudyReader(path) as reader:
        read = reader.recorded
    if result is not None and (read.certified, read.arm) != (result.certified, result.arm):
        return f"read: {read.sentence} But it ended with: {result.sentence}"
    code, _ = command("verify", path)
    if not found.certified == read.certified == (code == 0):
        return f"the checks disagree: {found.sentence}"
    return "another arm is best" if read.certified and not truth.right(read) else None


def main(folder: Path) -> None:
    """Go on with copies of all studies in a folder; one line of JSON for each."""
    warnings.simplefilter("ignore")
    copy = folder / "copy"
    for original in sorted(folder.glob("study-*")):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        try:
            what, broken = go_on(copy)
        except Exception as error:
            what, broken = "refused", f"{type(error).__name__}: {error}"
        print(json.dumps({"study": original.name, "what": what, "broken": broken}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
