"""Run a study many times: independent seeds, spread over processes, what is finished is kept."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.algorithms import Algorithm
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.experiments.macroreplication.estimate import EstimatedSimulator
from surefoot.experiments.macroreplication.summary import Macroreplications
from surefoot.experiments.macroreplication.truth import Truth, pooled, true_means
from surefoot.experiments.session.runner import Job, Session, opened
from surefoot.study.before.rehearsal import rehearse
from surefoot.study.file.description import Description
from surefoot.study.pull import Pull

RUNS = 100
APART = 2**40  # numbers of pulls that each run has to itself: files named by them do not collide


def macroreplicate(
    description: Description,
    simulator: Callable[[Pull], float],
    session: Session | None = None,
    *,
    best: str | None = None,
    algorithm: Algorithm | None = None,
) -> Macroreplications:
    """Run a whole study many times with independent seeds, and count how often it was right.

    Args:
        description: what the study is asked, such as `study.description`.
        simulator: gives the reward of a pull; a function of a module, or anything else that can be
            sent to another process, such as an `EstimatedSimulator`.
        session: how many runs, from which seed, in how many processes, and the folder in which
            what is finished is kept until all are. None: 100 runs, one process per core, and
            nothing kept.
        best: the name of the arm that is best. None: what the rewards of all runs together say.
        algorithm: only if surefoot does not ship it.
    """
    if hasattr(simulator, "check"):
        simulator.check(description.problem, alone=False)
    _refuse_what_cannot_travel(simulator)
    with opened(session, RUNS) as work:
        seeds = [_seed(work.seed, run) for run in range(work.runs)]
        jobs = [
            Job(str(run), (replace(description, seed=seed), simulator, algorithm, run))
            for run, seed in enumerate(seeds)
        ]
        found = work.map("macroreplicate", _run, jobs, _identity(description, simulator))
    return _summary(description, found, _truth(description, simulator, found, best))


def _run(
    description: Description,
    simulator: Callable[[Pull], float],
    algorithm: Algorithm | None,
    run: int,
) -> dict[str, Any]:
    """One run, as a journal keeps it."""
    guide = description.settings.guide
    if guide is not None and ":" in guide:
        importlib.import_module(guide.partition(":")[0])  # a fresh process does not have it
    result = rehearse(description, simulator, algorithm, run * APART)
    return {
        "arm": int(result.arm),
        "certified": bool(result.certified),
        "pulls": int(result.samples),
        "reason": result.reason.name,
        "counts": result.counts.tolist(),
        "sums": np.nan_to_num(result.counts * result.pair_averages).tolist(),
    }


def _seed(seed: int, run: int) -> int:
    words = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(4)
    return int.from_bytes(words.tobytes(), "little")


def _truth(
    description: Description,
    simulator: Callable[[Pull], float],
    found: list[dict[str, Any]],
    best: str | None,
) -> Truth:
    problem = description.problem
    if isinstance(simulator, EstimatedSimulator):
        truth = true_means(problem, description.sign * simulator.means)
    else:
        counts = [np.array(run["counts"], dtype=np.int64) for run in found]
        sums: list[Array] = [np.array(run["sums"], dtype=np.float64) for run in found]
        truth = pooled(problem, description.settings, counts, sums)
    return truth if best is None else truth.told(problem, best)


def _summary(
    description: Description, found: list[dict[str, Any]], truth: Truth
) -> Macroreplications:
    return Macroreplications(
        problem=description.problem,
        settings=description.settings,
        truth=truth,
        arms=np.array([run["arm"] for run in found]),
        certified=np.array([run["certified"] for run in found]),
        pulls=np.array([run["pulls"] for run in found]),
        reasons=tuple(run["reason"] for run in found),
    )


def _identity(description: Description, simulator: Callable[[Pull], float]) -> dict[str, Any]:
    """What decides the runs, besides the seed: the question and the simulator's own code."""
    asked = description.to_entries()
    whole = pickle.dumps(simulator) + _source(simulator)
    del asked["id"], asked["seed"], asked["name"], asked["versions"]
    return {"asked": asked, "simulator": hashlib.sha256(whole).hexdigest()}


def _source(simulator: Any) -> bytes:
    """The file that a function stands in; a changed one begins again."""
    try:
        name = inspect.getsourcefile(inspect.unwrap(simulator))
        return Path(name).read_bytes() if name else b""
    except (TypeError, OSError):  # an object, whose values say what it does
        return b""


def _refuse_what_cannot_travel(simulator: Callable[[Pull], float]) -> None:
    try:
        pickle.dumps(simulator)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the simulator cannot be sent to other processes ({error!s:.200}): define it at the "
            "top level of a module"
        ) from None
