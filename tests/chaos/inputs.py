"""Mutated configurations and tables: each is accepted, or refused by one clear message."""

from __future__ import annotations

import contextlib
import io
import signal
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import RobustProblem
from surefoot.commands import tell
from surefoot.commands.init import CONFIGURATION, SIMULATOR
from surefoot.study.toml.config import StudyConfig
from tests.chaos.trial import Trial, refused_or_done

SECONDS = 20
WORDS = """
true false nan inf -inf 1e308 1e-320 -1 0 1_000 0x1f 9007199254740993 1e400 None 0.5 [] {} [[]] ''
"NA" "10%" "%" "\\u0000" "\\u001b[2J" [1,"a"] {a=1} 2020-01-01 "=1+1" "../.."
"""
LONG = ["1" + "0" * 30, "9" * 5000, "[" * 3000, '"' + "x" * 200_000 + '"', '"{seed}"']
VALUES = [*WORDS.split(), *LONG]
CHARACTERS = ["\0", "\x1b", '"', "'", "=", "[", "]", "{", "}", ",", "\n", "\r", "#", "%", "é", "-"]
EXAMPLE = CONFIGURATION.format(file="study.toml", stem="study", module="simulator")
TABLES = """
delta = 0.05
noise = { kind = "sub-gaussian", scale = 1.0 }
features = "linear"
budget = 500
tolerance = 0.1
seed = 7
arms.csv = "arms.csv"
perturbations.csv = "perturbations.csv"
simulator = { command = "run --gain {gain}", json_field = "score", time_limit = 3 }
"""
BOX = """
delta = 0.05
noise = { kind = "gaussian", scale = 0.5 }
algorithm = { name = "robust-rage" }
arms.list = [{ name = "a", gain = 1.0, delay = 2 }, { name = "b", gain = 4.0, delay = 0.5 }]
perturbations.box = { gain = "10%", delay = 0.1 }
"""
ARMS = "name,gain,delay\nNone,1.0,2\n02,4,0.5\nNA,3,1\n"
PERTURBATIONS = "name,arm,gain\nnominal,,0\nheavy,02,-20%\nlight,,5%\n"
PAIRS = "arm,perturbation,x,y\na,p,1,2\na,q,2,1\nb,p,0,1\n"
REWARDS = "study,pull,arm,reward\n,0,a,1.5\n,1,b,\n,2,c,-3e-2\n"


def configurations(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Mutated TOML files; every tenth that is accepted becomes a study."""
    _write_tables(folder)
    path = folder / "study.toml"
    for number in range(count):
        content = mutated([EXAMPLE, TABLES, BOX][number % 3], generator)
        path.write_bytes(content)
        yield _tried(content, partial(_use_configuration, path, number % 10 == 0))


def tables(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Mutated CSV files: arms, perturbations, pairs, and rewards that are told."""
    _write_tables(folder)
    study = folder / "told.toml"
    study.write_text(BOX)
    StudyConfig(study).open_study().close()
    configuration = folder / "study.toml"
    configuration.write_text(TABLES)
    uses: list[tuple[str, str, Callable[[Path], Any]]] = [
        ("arms.csv", ARMS, lambda _: _use_configuration(configuration, False)),
        ("perturbations.csv", PERTURBATIONS, lambda _: _use_configuration(configuration, False)),
        ("pairs.csv", PAIRS, lambda path: RobustProblem.from_csv(path)),
        ("rewards.csv", REWARDS, lambda path: tell.command(path, study)),
    ]
    for number in range(count):
        name, text, use = uses[number % len(uses)]
        content = mutated(text, generator)
        (folder / name).write_bytes(content)
        yield _tried(content, partial(use, folder / name))
        (folder / name).write_text(text)


def mutated(text: str, generator: np.random.Generator) -> bytes:
    """The text after one to four accidents."""
    for _ in range(int(generator.integers(1, 5))):
        text = ACCIDENTS[int(generator.integers(len(ACCIDENTS)))](text, generator)
    content = text.encode("utf-8", "surrogatepass")
    if generator.random() < 0.1 and content:
        place = int(generator.integers(len(content)))
        content = content[:place] + generator.bytes(3) + content[place + 3 :]
    return content


def _character(text: str, generator: np.random.Generator) -> str:
    place = int(generator.integers(len(text) + 1))
    new = CHARACTERS[int(generator.integers(len(CHARACTERS)))]
    return text[:place] + new + text[place + int(generator.integers(3)) :]


def _value(text: str, generator: np.random.Generator) -> str:
    """Something else in the place of a word."""
    words = [k for k, c in enumerate(text) if c in " ,=\n"] or [0]
    start = words[int(generator.integers(len(words)))] + 1
    ends = [k for k in words if k > start]
    new = VALUES[int(generator.integers(len(VALUES)))]
    return text[:start] + new + text[ends[0] if ends else len(text) :]


def _line(text: str, generator: np.random.Generator) -> str:
    """A line left out, written twice or moved."""
    lines = text.splitlines(keepends=True) or [""]
    one, other = (int(generator.integers(len(lines))) for _ in range(2))
    kept = [lines[:one] + lines[one + 1 :], [*lines, lines[one]]]
    lines[one], lines[other] = lines[other], lines[one]
    return "".join([*kept, lines][int(generator.integers(3))])


def _cut(text: str, generator: np.random.Generator) -> str:
    return text[: int(generator.integers(len(text) + 1))]


ACCIDENTS = [_character, _value, _value, _line, _cut]


def _write_tables(folder: Path) -> None:
    (folder / "arms.csv").write_text(ARMS)
    (folder / "perturbations.csv").write_text(PERTURBATIONS)
    (folder / "simulator.py").write_text(SIMULATOR)


def _use_configuration(path: Path, create: bool) -> None:
    config = StudyConfig(path)
    problem = config.problem()
    config.values.algorithm.build()
    if config.values.simulator:
        config.simulator(problem)
    if create and config.file.parent == path.parent and problem.n_pairs < 1000:
        config.file.unlink(missing_ok=True)
        with config.open_study() as study:
            study.ask(1)


def _tried(content: bytes, attempt: Callable[[], Any]) -> Trial:
    """Give it so many seconds of the processor, and ten times as many by the clock."""

    def give_up(*_: object) -> None:
        raise RuntimeError(f"it took longer than {SECONDS} s")

    signals = {signal.SIGPROF: (signal.ITIMER_PROF, 1), signal.SIGALRM: (signal.ITIMER_REAL, 10)}
    before = {number: signal.signal(number, give_up) for number in signals}
    for timer, times in signals.values():
        signal.setitimer(timer, times * SECONDS)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            broken = refused_or_done(attempt)
    finally:
        for timer, _ in signals.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    return Trial(repr(content[:2000]), broken)
