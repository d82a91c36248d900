"""Sheets that people fill in: columns sorted apart, left out and rounded; rewards told, told again
and corrected in any order, with the study closed and opened in between.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.study.sheet import read_sheet, write_sheet
from tests.chaos.trial import Trial, refused_or_done

Row = dict[str, str]
STEPS = 40  # of a study that people work on
ASKED: list[dict[str, Any]] = [
    {"misfit": np.inf},
    {"misfit": np.inf, "common_random_numbers": True},
    {"misfit": 0.0, "noise": sf.Gaussian(1.0)},
]


def _create(path: Path, number: int) -> sf.Study:
    arms = np.array([[0.1, 3.0], [0.1, 4.0], [1 / 3, 3.0]])
    problem = sf.RobustProblem.paper(
        arms,
        [np.array([[0.0, 0.0], [0.01, 0.5]])] * 3,
        arm_names=["1.0", "=slow, wide", "best"],
        parameter_names=["gain", "delay"],
    )
    asked = {"noise": sf.Gaussian()} | ASKED[number % len(ASKED)]
    return sf.Study.create(path, problem, delta=0.05, seed=number, **asked)


def sorted_apart(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Move some columns of a sheet against the others: stored is what belongs together, or none."""
    for number in range(count):
        path = folder / f"{number}.db"
        with _create(path, number) as study:
            rows = _handed_out(study, int(generator.integers(2, 9)))
            moved, what = _accident(rows, generator)
            path.with_suffix(".csv").write_text(_text(moved))
            broken = refused_or_done(partial(_tell, study, path.with_suffix(".csv")))
        with sf.StudyReader(path) as reader:
            told = reader.pulls().dropna(subset="reward")
        stored = dict(zip(told["id"].tolist(), told["reward"].tolist(), strict=True))
        # rewards that are moved alone are nobody's to notice
        right = {int(row["pull"]): float(row["reward"]) for row in moved if _alike(rows, moved)}
        yield Trial(what, broken or (None if stored == right else f"stored {stored}, not {right}"))


def _handed_out(study: sf.Study, n: int) -> list[Row]:
    file = io.StringIO()
    write_sheet(study, study.ask(n, remember=True), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    return [row | {"reward": str(number + 0.5)} for number, row in enumerate(rows)]


def _accident(rows: list[Row], generator: np.random.Generator) -> tuple[list[Row], str]:
    """Return the rows with columns left out and others in another order, each reward as written."""
    columns = list(rows[0])
    left_out = [name for name in columns if generator.random() < 0.2]
    kept = [name for name in columns if name not in left_out or name in ("pull", "reward")]
    apart = [name for name in kept if generator.random() < 0.4]
    order = generator.permutation(len(rows))
    moved = [
        {name: rows[order[place] if name in apart else place][name] for name in kept}
        for place in range(len(rows))
    ]
    return moved, f"{', '.join(apart) or 'nothing'} sorted apart, without {', '.join(left_out)}"


def _alike(rows: list[Row], moved: list[Row]) -> bool:
    """Whether each moved row still says of its pull what was asked."""
    own = {row["pull"]: row for row in rows}
    ignored = ("reward", "study")
    return all(
        own[row["pull"]][name] == said
        for row in moved
        for name, said in row.items()
        if name not in ignored
    )


def _text(rows: list[Row]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _tell(study: sf.Study, path: Path) -> None:
    rewards, identifier = read_sheet(study, path)
    study.tell_many(rewards, study=identifier)


def corrections(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Ask, tell, tell again, correct, reopen, at random: the file says what a list would."""
    for number in range(count):
        path = folder / f"corrected-{number}.db"
        _create(path, number).close()
        yield Trial(f"{number}", _work_by_hand(path, generator))


def _work_by_hand(path: Path, generator: np.random.Generator) -> str | None:
    known: dict[int, float] = {}
    changed: list[tuple[int, float, float]] = []
    study = sf.Study.open(path)
    try:
        for _ in range(STEPS):
            deed = ["tell", "again", "correct", "reopen", "unknown"][int(generator.integers(5))]
            if deed == "reopen":
                study.close()
                study = sf.Study.open(path)
                continue
            broken = _one_deed(study, deed, known, changed, generator)
            if broken:
                return broken
    finally:
        study.close()
    with sf.StudyReader(path) as reader:
        told = reader.pulls().dropna(subset="reward")
        found = dict(zip(told["id"].tolist(), told["reward"].tolist(), strict=True))
        trace = reader.corrections()[["pull", "was", "became"]].to_numpy().tolist()
    if found != known:
        return f"the file has {found}, not {known}"
    if [tuple(row) for row in trace] != changed:
        return f"corrections are {trace}, not {changed}"
    proved = sf.verify(path)
    return None if proved.intact else proved.sentence


def _one_deed(
    study: sf.Study,
    deed: str,
    known: dict[int, float],
    changed: list[tuple[int, float, float]],
    generator: np.random.Generator,
) -> str | None:
    reward = float(np.round(generator.normal(), 3))
    if deed == "tell":
        for pull in study.ask(int(generator.integers(1, 9)), remember=True):
            study.tell(pull, known.setdefault(pull.id, reward + pull.id % 7))
        return None
    number = int(generator.choice(list(known))) if known and deed != "unknown" else 10**6
    open_phase = study.pull(number) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if deed == "again":
                study.tell(number, reward)
            else:
                study.correct(number, reward)
        except sf.InputError:
            refused = number not in known or (deed == "correct" and not open_phase)
            return None if refused else f"{deed} of pull {number} was refused"
    if deed != "again":
        if number not in known or not open_phase:
            return f"{deed} of pull {number} was taken"
        changed.append((number, known[number], reward))
        known[number] = reward
    return None
