"""`surefoot run` is sent a signal at a random moment of its start: it ends at once, says how to go
on, and loses nothing; and the study goes on to the same end.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.study import StudyReader
from surefoot.study.toml.config import StudyConfig
from surefoot.system.interrupts import EXIT_CODE
from tests.chaos.trial import Trial
from tests.commands_in_processes import Command, Ending, busy_machine, told

CONFIGURATION = """
delta = 0.05
seed = 5
budget = 20000
noise = { kind = "gaussian", scale = 1000.0 }
arms.grid = { dose = [1.0, 3.0, 5.0] }
algorithm = "uniform"
simulator.python = "slow:simulate"
"""
SIMULATOR = """
import time

def simulate(pull):
    time.sleep(0.01)
    return pull.parameters["dose"] + pull.rng().normal()
"""
RUN = ("run", "study.toml", "--quiet", "--processes", "2")
WORKERS = 2
REPRODUCE = ("reproduce", "unit-sphere", "--quiet", "--runs", "1", "--processes", str(WORKERS))
SENTENCE = (
    r"surefoot: (interrupted.*the same command goes on( with them)?|"
    r"stopped after \d+ pulls; run .*)\n"
)
PATIENCE = 10.0  # seconds from the signal to the end, on a machine that is busy


@dataclass(frozen=True)
class Signals:
    """Each trial is one signal; the last says how the study ended.

    Attributes:
        latest: in parts of the time until the first reward of an undisturbed start.
    """

    latest: float

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        calm = _rewards(_study(folder / "calm"))
        disturbed = _study(folder / "disturbed")
        start_up = Command(disturbed, *RUN).seconds_until(lambda: told(disturbed) > 0)
        for number in range(count):
            sent = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP][number % 3]
            seconds = start_up * float(generator.uniform(0.0, self.latest))
            broken = _disturb(disturbed, sent, seconds)
            yield Trial(f"{sent.name} after {seconds:.2f} s", broken)
        yield Trial("the end", None if _rewards(disturbed) == calm else "another end")


def at_the_start(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Press Ctrl-C while a command compiles, imports or starts its workers, on a busy machine."""
    with busy_machine():
        start_up = Command(_empty(folder / "calm"), *REPRODUCE).seconds_until_children(WORKERS)
        for number in range(count):
            yield _interrupted(folder / str(number), start_up * float(generator.random()))


def first_milliseconds(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Press Ctrl-C while a command arranges what an interrupt will do."""
    for number in range(count):
        yield _interrupted(folder / str(number), float(generator.uniform(0.0, 0.03)))


def _interrupted(folder: Path, seconds: float) -> Trial:
    ending = Command(_empty(folder), *REPRODUCE).at(seconds).interrupt()
    broken = None
    if ending.seconds > PATIENCE:
        broken = f"it still ran {PATIENCE:g} s after the signal"
    elif not _said_once(ending):
        broken = f"exit code {ending.code}: {ending.words[-800:]!r}"
    return Trial(f"interrupt after {seconds:.3f} s", broken)


def _said_once(ending: Ending) -> bool:
    """A machine that is new to the program also announces compilation."""
    lines = ending.words.splitlines()
    said = "".join(f"{line}\n" for line in lines if not line.startswith("surefoot: compiling"))
    return ending.code == EXIT_CODE and re.fullmatch(SENTENCE, said) is not None


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(CONFIGURATION)
    (folder / "slow.py").write_text(SIMULATOR)
    return folder


def _disturb(folder: Path, sent: signal.Signals, seconds: float) -> str | None:
    before = told(folder)
    ending = Command(folder, *RUN).at(seconds).ended_by(sent)
    if ending.seconds > PATIENCE:
        return f"it still ran {PATIENCE:g} s after the signal"
    if not _is_right(ending, sent):
        return f"exit code {ending.code}: {ending.words[-800:]!r}"
    return "rewards were lost" if told(folder) < before else None


def _is_right(ending: Ending, sent: signal.Signals) -> bool:
    """One sentence on Ctrl-C; whoever sends another signal wants no words."""
    if sent == signal.SIGINT:
        return ending.code == EXIT_CODE and re.fullmatch(SENTENCE, ending.words) is not None
    return ending.code == -sent and ending.words == ""


def _rewards(folder: Path) -> list[tuple[int, int, float]]:
    """All rewards of the study, which goes on to its end first, without the waiting."""
    with StudyConfig(folder / "study.toml").open_study() as study:
        study.run(lambda pull: pull.parameters["dose"] + pull.rng().normal(), "serial")
    with StudyReader(folder / "study.db") as reader:
        table = reader.pulls()[["id", "pair", "reward"]]
    return list(table.itertuples(index=False, name=None))
