"""Simulators that are changed at a random moment of their study: each reward is stored with what
gave it, and nothing is certified until somebody says why.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import surefoot as sf
from surefoot.study import Pull
from surefoot.study.programs.functions import Watched
from surefoot.study.provenance import Source
from surefoot.study.toml.config import StudyConfig
from tests.chaos.trial import Trial

STUDY = """
delta = 0.05
seed = {seed}
arms.grid = {{ dose = [1.0, 2.0, 3.0] }}
simulator = {simulator}
"""
COMMAND = (
    '{{ command = ["{0}", "-S", "model.py", "{{dose}}", "{{seed}}"], json_field = "minutes" }}'
)
SIMULATORS = ['{ python = "model:simulate" }', COMMAND.format(sys.executable)]
MODEL = """
import random, sys
from scale import UNIT

def reward(dose, seed):
    random.seed(seed)
    return UNIT * dose + random.gauss(0, 2)

def simulate(pull):
    return reward(pull.parameters["dose"], pull.seed)

if __name__ == "__main__":
    found = reward(float(sys.argv[1]), int(sys.argv[2]))
    print('{"minutes": %r, "seconds": %r}' % (found, 60 * found))
"""
SCALE = "UNIT = 1.0\n"
CHUNK = 4  # pulls that come back together, of which some are stored whatever happens
Edit = tuple[str, str, str, bool]
EDITS: list[Edit] = [  # file, what, into what, whether rewards may be others
    ("model.py", "UNIT * dose", "-UNIT * dose", True),
    ("scale.py", "1.0", "0.5", True),
    ("study.toml", '"minutes"', '"seconds"', True),
    ("model.py", "\ndef reward", "\n# a remark\ndef reward", False),
    ("study.toml", "delta = 0.05", "delta = 0.05\nbudget = 100000", False),
    ("other.py", "", "UNIT = 7", False),
]


def changed_simulators(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Change something between two runs, or while a program is run again and again."""
    for number in range(count):
        own = folder / f"study-{number}"
        own.mkdir()
        simulator = SIMULATORS[number % 4 == 3]
        edits = [edit for edit in EDITS if edit[0] != "study.toml" or simulator is SIMULATORS[1]]
        edit = edits[int(generator.integers(len(edits)))]
        (own / "study.toml").write_text(STUDY.format(seed=number, simulator=simulator))
        (own / "model.py").write_text(MODEL)
        (own / "scale.py").write_text(SCALE)
        (own / "other.py").write_text("")
        yield Trial(
            f"{number}: {edit[0]}, {edit[1]!r} to {edit[2]!r}",
            _tried(own, edit, int(generator.integers(1, 30))),
        )
    yield Trial("threads that read files at the same time", _read_at_once())


def _read_at_once() -> str | None:
    """Let threads parse a file: Python 3.11 fails if a collection of garbage lets another thread
    parse in between.
    """
    found: list[Source] = []
    before = gc.get_threshold()
    threads = [
        threading.Thread(target=lambda: found.append(Watched(changed_simulators).source))
        for _ in range(4)
    ]
    gc.callbacks.append(_let_others_go_on)
    gc.set_threshold(50)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(_let_others_go_on)
    return None if len(found) == 4 and all(one == found[0] for one in found) else f"read: {found}"


def _let_others_go_on(*_: object) -> None:
    time.sleep(0)


def _tried(folder: Path, edit: Edit, told: int) -> str | None:
    file, old, new, is_other = edit
    _run(folder, told)
    with sf.StudyReader(folder / "study.db") as reader:
        if reader.recorded.certified:
            return "it had ended before the change"
    text = (folder / file).read_text() if (folder / file).exists() else ""
    (folder / file).write_text(text.replace(old, new) if old else new)
    said = _run(folder)
    with sf.StudyReader(folder / "study.db") as reader:
        certified, used = reader.recorded.certified, reader.simulators
        marked = reader.pulls()["simulator"].value_counts().to_dict()
    if marked != {one.number: one.pulls for one in used if one.pulls}:
        return f"rewards are marked {marked}"
    if is_other == certified or is_other != bool(used.changed):
        return f"certified: {certified}, changes: {len(used.changed)}"
    if is_other != ("not the one that gave" in said):
        return f"said at the start: {said}"
    if is_other:
        _run(folder, accept="it was meant so")
        found = sf.verify(folder / "study.db")
        with sf.StudyReader(folder / "study.db") as reader:
            still = reader.recorded.reason is sf.StopReason.SIMULATOR_CHANGED
        # two means in one pair may be withheld for another reason, as they should be
        if still or "it was meant so" not in str(found.assumed):
            return f"accepting it did not help: {found.sentence}"
    return None


def _run(folder: Path, told: int | None = None, accept: str | None = None) -> str:
    """Go on until there are more rewards than this, or to the end; return what was said."""
    for name in ("model", "scale"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    config = StudyConfig(folder / "study.toml")
    with warnings.catch_warnings(record=True) as said, config.open_study() as study:
        warnings.simplefilter("always")
        simulator = config.simulator(study.problem)
        with contextlib.suppress(KeyboardInterrupt):
            study.run(_Stopped(simulator, told), "serial", accept_change=accept)
    sys.path.remove(str(folder.absolute())) if str(folder.absolute()) in sys.path else None
    return " ".join(str(one.message) for one in said)


class _Stopped:
    """The same simulator, with somebody who ends the run after so many pulls."""

    def __init__(self, simulator: Callable[[Pull], float], pulls: int | None) -> None:
        self.__wrapped__, self._left = simulator, pulls

    def __call__(self, pull: Pull) -> float:
        if self._left is not None:
            self._left -= 1
            if self._left < -CHUNK:
                raise KeyboardInterrupt
        return self.__wrapped__(pull)
