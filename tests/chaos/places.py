"""Logs that are cut or of another study, and folders that belong to somebody else: a study is read
as it was stored, or refused by one clear message, and nothing is changed.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: F401  # nobody may not read where it is installed

import surefoot as sf
from surefoot.errors import InputError
from tests.chaos.trial import Trial, apart
from tests.study.toys import Rounds, linear, open_toy, rewards_of, toy_study

SECONDS = 60.0
NOBODY = 65534
RIGHTS = [0o644, 0o444, 0o400, 0o666]
Rewards = list[tuple[int, int, float]]


def logs(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Put a cut, a mutated or a foreign log beside a study: all that is read was told."""
    known = _own_and_foreign(folder)
    for number in range(count):
        path = folder / "tried" / "toy.db"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        what = ["cut", "bytes changed", "foreign", "older", "foreign, cut"][number % 5]
        own, log = _beside(folder, what, generator)
        path.write_bytes(own)
        path.with_name("toy.db-wal").write_bytes(log)
        broken = apart(partial(_only_what_was_told, path, known), SECONDS)
        yield Trial(f"{number}: {what}", broken or apart(partial(_goes_on, path), SECONDS))


def _own_and_foreign(folder: Path) -> list[Rewards]:
    """Write two studies with their logs as they are while they run, and return their rewards."""
    known = []
    for name, seed in (("own", 11), ("foreign", 12)):
        path = folder / f"{name}.db"
        with toy_study(path, seed=seed) as study:
            for number in range(24):
                if number == 12:
                    shutil.copy(path.with_name(path.name + "-wal"), folder / f"{name}-older.wal")
                pull = study.ask(1)[0]
                study.tell(pull, linear(pull))
            shutil.copy(path, folder / f"{name}.copy")
            shutil.copy(path.with_name(path.name + "-wal"), folder / f"{name}.wal")
        known.append(rewards_of(path))
    return known


def _beside(folder: Path, what: str, generator: np.random.Generator) -> tuple[bytes, bytes]:
    name = "foreign" if "foreign" in what else "own"
    log = bytearray((folder / f"{name}{'-older' if what == 'older' else ''}.wal").read_bytes())
    if "cut" in what:
        log = log[: int(generator.integers(len(log)))]
    if "bytes" in what:
        for place in generator.integers(len(log), size=int(generator.integers(1, 40))):
            log[int(place)] ^= 1 << int(generator.integers(8))
    return (folder / "own.copy").read_bytes(), bytes(log)


def _only_what_was_told(path: Path, known: list[Rewards]) -> None:
    found = {row for row in rewards_of(path) if row[2] == row[2]}
    own, foreign = ({row for row in rewards if row[2] == row[2]} for rewards in known)
    if not found <= own and not found <= foreign:
        raise AssertionError(f"{len(found - own)} rewards are nobody's")
    sf.verify(path, algorithm=Rounds())


def _goes_on(path: Path) -> None:
    with open_toy(path) as study:
        study.run(linear, "serial")


def other_users(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Let somebody who may only read, or not even that, do all that is done with a study."""
    with toy_study(folder / "toy.db") as study:
        study.tell_many([(pull, linear(pull)) for pull in study.ask(20)])
        study.ask(3, remember=True)
    content = (folder / "toy.db").read_bytes()
    folder.chmod(0o755)
    deeds: list[Callable[[Path], None]] = [_look, _open, _back_up, _create]
    for number in range(count):
        own = folder / f"of-another-{number}"
        own.mkdir()
        (own / "toy.db").write_bytes(content)
        of_file, of_folder = (int(bits) for bits in generator.choice(RIGHTS, 2))
        (own / "toy.db").chmod(of_file)
        own.chmod(of_folder | stat.S_IXUSR | stat.S_IXGRP | (stat.S_IXOTH if number % 3 else 0))
        deed = deeds[number % len(deeds)]
        broken = apart(partial(_as_nobody, partial(deed, own / "toy.db")), SECONDS)
        same = (own / "toy.db").read_bytes() == content
        # who may not write the file cannot let SQLite tidy up beside it
        harmless = set() if of_file & stat.S_IWOTH else {"toy.db-wal", "toy.db-shm"}
        left = {file.name for file in own.iterdir()} <= {"toy.db", *harmless}
        left &= not any(file.stat().st_size for file in own.glob("*-wal"))
        yield Trial(
            f"{deed.__name__} of a file {of_file:o} in a folder {of_folder:o}",
            broken or (None if same and left else "something was left or changed"),
        )
        shutil.rmtree(own)


def _as_nobody(deed: Callable[[], None]) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    deed()


def _look(path: Path) -> None:
    with sf.StudyReader(path, algorithm=Rounds()) as reader:
        if reader.status().told != 16:
            raise AssertionError(f"{reader.status().told} told")
        reader.pulls()


def _open(path: Path) -> None:
    with open_toy(path):
        pass


def _back_up(path: Path) -> None:
    with sf.StudyReader(path, algorithm=Rounds()) as reader:
        try:
            reader.backup(path.with_name("copy.db"))
        except InputError:
            return
    path.with_name("copy.db").unlink()


def _create(path: Path) -> None:
    toy_study(path.with_name("new.db")).close()
    path.with_name("new.db").unlink()
