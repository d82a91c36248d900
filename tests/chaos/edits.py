"""Edits of finished studies: each is found by `verify` and by `status`, in one sentence."""

from __future__ import annotations

import contextlib
import io
import math
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import surefoot as sf
from surefoot import cli
from surefoot.study.file.encoding import packed, unpacked
from tests.chaos.trial import Trial
from tests.study.file.test_follower import create, linear

CUT = 512  # bytes
PACKED = ("commitment", "limits")
DIGESTS = ("plan", "link", "rewards", "closing")
NUMBERS = ("batches", "shared", "first_pull", "pulls")
Edit = Callable[[sqlite3.Connection, int, np.random.Generator], str]


@dataclass(frozen=True)
class Edits:
    """Edits of one kind, of studies with and without a kernel."""

    edit: Edit

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        sources = finished(folder)
        path = folder / "edited.db"
        for number in range(count):
            path.write_bytes(sources[number % len(sources)])
            with contextlib.closing(sqlite3.connect(path)) as connection:
                what = self.edit(connection, number, generator)
                connection.commit()
            yield Trial(f"study {number % len(sources)}: {what}", not_found(path))


def rewards(connection: sqlite3.Connection, number: int, generator: np.random.Generator) -> str:
    """Change one reward, by much or in its last digits."""
    (last,) = connection.execute("SELECT max(id) FROM pulls").fetchone()
    pull, by = int(generator.integers(last + 1)), float(10 ** generator.uniform(-12, 1))
    connection.execute(
        "UPDATE pulls SET reward = reward * (1 + ?) + ? WHERE id = ?", (by, by, pull)
    )
    return f"the reward of pull {pull} by {by:.1e}"


def commitments(connection: sqlite3.Connection, number: int, generator: np.random.Generator) -> str:
    """Change one stored field of a phase: a bit of what is packed or of a digest, or a number."""
    fields = PACKED + DIGESTS + NUMBERS
    field = fields[number // 3 % len(fields)]
    (phases,) = connection.execute("SELECT count(*) FROM phases").fetchone()
    phase = int(generator.integers(phases))
    if field in NUMBERS:
        changed = "1 - shared" if field == "shared" else f"{field} + 1"
        connection.execute(f"UPDATE phases SET {field} = {changed} WHERE phase = ?", (phase,))
        return f"{field} of phase {phase}"
    ask = f"SELECT {field} FROM phases WHERE phase = ?"
    (stored,) = connection.execute(ask, (phase,)).fetchone()
    content = bytearray(unpacked(stored) if field in PACKED else stored)
    content[generator.integers(len(content))] ^= 1 << int(generator.integers(8))
    new = packed(bytes(content)) if field in PACKED else bytes(content)
    connection.execute(f"UPDATE phases SET {field} = ? WHERE phase = ?", (new, phase))
    return f"a bit of {field} of phase {phase}"


def reorderings(connection: sqlite3.Connection, number: int, generator: np.random.Generator) -> str:
    """Let two pulls, two phases or two digests change places."""
    (phases,) = connection.execute("SELECT count(*) FROM phases").fetchone()
    one, other = (int(phase) for phase in generator.choice(phases, 2, replace=False))
    kind = number // 3 % 3
    if kind == 0:
        rows = connection.execute("SELECT id, pair, reward FROM pulls ORDER BY random()").fetchall()
        first = rows[0]
        second = next(row for row in rows if row[1:] != first[1:])
        ask = "UPDATE pulls SET pair = ?, reward = ? WHERE id = ?"
        connection.executemany(ask, [(*second[1:], first[0]), (*first[1:], second[0])])
        return f"pulls {first[0]} and {second[0]}"
    columns = ["commitment", *DIGESTS, "limits", "batches", "shared"] if kind == 1 else ["closing"]
    ask = f"SELECT {', '.join(columns)} FROM phases WHERE phase = ?"
    rows = [connection.execute(ask, (phase,)).fetchone() for phase in (other, one)]
    change = f"UPDATE phases SET {', '.join(f'{name} = ?' for name in columns)} WHERE phase = ?"
    connection.executemany(change, [(*rows[0], one), (*rows[1], other)])
    return f"{'phases' if kind == 1 else 'digests of phases'} {one} and {other}"


ORIGINS = (
    "UPDATE pulls SET simulator = simulator + 1 WHERE id = ?",
    "UPDATE pulls SET simulator = NULL WHERE id = ?",
    "UPDATE pulls SET error = 'it failed', attempts = 2 WHERE id = ?",
    "UPDATE pulls SET error = 'it counts' WHERE id = ?",
    "UPDATE simulators SET since = since + 1 + ?",
    "UPDATE simulators SET accepted = 'pull ' || ?",
)


def origins(connection: sqlite3.Connection, number: int, generator: np.random.Generator) -> str:
    """Change what gave a reward, whether its pull failed, or what is said of the simulator."""
    (last,) = connection.execute("SELECT max(id) FROM pulls").fetchone()
    pull, change = int(generator.integers(last + 1)), ORIGINS[number // 3 % len(ORIGINS)]
    connection.execute(change, (pull,))
    return change.replace("?", str(pull))


def flips(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Flip one bit of a file: it is found, or stands where no answer rests on it."""
    sources, path = finished(folder), folder / "flipped.db"
    for number in range(count):
        content = bytearray(sources[number % len(sources)])
        path.write_bytes(content)
        before = sf.verify(path)
        place = int(generator.integers(len(content)))
        content[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(content)
        broken = not_found(path)
        harmless = broken is not None and (sf.verify(path) == before or _same(path, before))
        yield Trial(f"study {number % len(sources)}: byte {place}", None if harmless else broken)


def cuts(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Cut a file after every 512 bytes."""
    sources, path = finished(folder), folder / "cut.db"
    places = [(source, size) for source in sources for size in range(0, len(source), CUT)]
    for place in generator.permutation(len(places))[:count]:
        source, size = places[place]
        path.write_bytes(source[:size])
        yield Trial(f"{size} of {len(source)} bytes", not_found(path))


def _same(path: Path, before: sf.Verified) -> bool:
    """Whether a file that `verify` refuses for its pages still gives the answer it gave."""
    with sf.StudyReader(path) as reader:
        answer = reader.recorded
    return not sf.verify(path).intact and answer.certified and answer.sentence == before.claimed


def finished(folder: Path) -> list[bytes]:
    """Return finished studies of several phases: one trusts a model, one pairs alone, and one has
    no kernel.
    """
    made = []
    pairs = {"noise": sf.Gaussian(), "misfit": math.inf}
    uniform = {"algorithm": "uniform", "delta": 1e-4}
    for number, asked in enumerate([{"misfit": 0}, pairs, uniform]):
        path = folder / f"finished-{number}.db"
        if not path.exists():
            with create(path, **asked) as study:
                assert study.run(linear, "serial").certified
        made.append(path.read_bytes())
    return made


def not_found(path: Path) -> str | None:
    """Say how a change went unnoticed, or was not told in one sentence."""
    try:
        found = sf.verify(path)
        code, said = command("verify", path)
        shown, status = command("status", path)
    except Exception:
        return traceback.format_exc(limit=-3)
    if found.intact or "\n" in found.sentence:
        return f"verify: {found.sentence}"
    if code != 1 or said.count("\n") != 1:
        return f"surefoot verify: {code}, {said}"
    told = "NOT_VERIFIED" in status if shown == 0 else status.count("\n") == 1
    return None if told else f"surefoot status: {shown}, {status}"


def command(name: str, path: Path) -> tuple[int, str]:
    """Return the exit code of a command, and all that it printed."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            cli.main([name, str(path)])
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()
