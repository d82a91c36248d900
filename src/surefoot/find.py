"""The front door: `find` calls a function until it knows which arm has the best worst case."""

from __future__ import annotations

import difflib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from surefoot.algorithms import Algorithm, Settings, algorithm_from
from surefoot.algorithms.settings import Asked, default_misfit
from surefoot.answer import Answer
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise
from surefoot.problem.coding import probability
from surefoot.problem.given import is_pair_table
from surefoot.problem.problem import RobustProblem
from surefoot.study import StudyInterrupted, StudyPaused
from surefoot.study.file.description import Description, OnFailure, OnIdentical
from surefoot.study.input import Simulated
from surefoot.study.programs.functions import Named
from surefoot.study.pull import refuse_reserved
from surefoot.study.run.executors import dask_client
from surefoot.study.study import Study
from surefoot.system.progress import NoProgress, Progress, progress_if_seen

if TYPE_CHECKING:
    from surefoot.problem.coding import Value
    from surefoot.problem.problem import Given

ELSEWHERE = {  # options of studies
    "delta": "confidence=0.95",
    "direction": "minimize=True",
    "executor": "workers=pool",
}
MEMORY = Path("/dev/shm")  # files there cost no disk: a study without a file of its own


def find(
    simulate: Callable[..., Simulated],
    arms: Given | RobustProblem,
    perturbations: Given | None = None,
    *,
    environment: Mapping[str, Value] | None = None,
    minimize: bool = False,
    confidence: float = 0.95,
    baseline: Mapping[str, Value] | str | None = None,
    noise: Noise | None = None,
    seed: int | None = None,
    file: str | os.PathLike[str] | None = None,
    workers: Any = None,
    dask: Any = None,
    retries: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    algorithm: str | Algorithm = "prime",
    on_identical: OnIdentical = "refuse",
    on_failure: OnFailure = "retry",
    name: str | None = None,
    **asked: Unpack[Asked],
) -> Answer:
    """Find the arm with the best worst case, with proof, in few calls of a simulator.

    Nothing is assumed of how the results depend on the parameters, and of their noise only that
    differences of means over batches are nearly normal.

    Args:
        simulate: a function whose arguments are named like parameters, which returns one number, or
            several by name, of which `objective` names the one to be best in. It may also name
            `rng`, a generator of NumPy, or `seed`, a whole number, from which all randomness must
            come; `stream`, a function that gives further generators by number; `pull`, all of these
            in one; `arm` and `perturbation`, their names. With `**others` it is given all other
            parameters; with a single argument of another name, a dictionary of all parameters.
        arms: what one can choose: a list of dictionaries, or dictionaries by name, `{"small":
            {"nurses": 4}, …}`; a dictionary of the values of each parameter (all combinations are
            arms); a data frame, the path of a CSV; or a data frame or CSV with columns `arm` and
            `perturbation` and one row for each pair; or a problem.
        perturbations: changes by name, `{"as planned": {}, "flu": {"demand":
            "+20%"}}`, or a list, data frame or CSV. Numbers are added, "+20%" is relative, words
            replace. Only what is listed is simulated: list `{}` too for the unperturbed (nominal)
            arm.
        environment: nominal values of parameters that no arm chooses.
        minimize: whether the function gives costs: the worst case is then the largest mean.
        confidence: that a certified answer is right.
        baseline: the arm that is used today, by its parameters or its name: the answer says how
            far ahead of it the best arm is at least.
        noise: a model of the noise; None: only means of batches are taken for nearly normal.
        seed: of all random streams; drawn afresh if None.
        file: the path of a study file, which is made, or gone on with if it is there: nothing
            is lost if the process ends. None: in memory.
        workers: None: calls are made in this process, one after the other. A number of processes,
            "threads", or any object with `submit`.
        dask: the address of a Dask scheduler, or a client.
        retries: how often a call that fails is tried again; None: never in this process, twice by
            workers.
        time_limit: seconds after which a call is stopped, and has failed; it needs workers.
        progress: whether to show a bar; None: in a terminal and in a notebook.
        algorithm: a name from `surefoot.algorithms`, or an instance.
        on_identical: "accept" for a function without noise.
        on_failure: the reward that a call that fails counts as; "worst" where noise is
            `Bounded(low, high)`; "retry" tries it again.
        name: the title of reports; by default that of the file or of the function.
        asked: `objective` and `limits` where there are several outputs, `measure`, `tolerance`,
            `budget` and whatever else `Settings` describes.

    Returns:
        The answer; after Ctrl-C, or when the budget is spent, the best guess so far.

    Raises:
        InputError: something that was given cannot be used; the message says how to mend it.
        StudyPaused: the function failed; its own error is the cause.
    """
    _refuse_unknown(asked)
    problem = _problem(arms, perturbations, environment)
    call = Named(simulate, problem.parameter_names, time_limit=time_limit)
    chosen, confident = algorithm_from(algorithm), _probability(confidence)
    asked.setdefault("misfit", default_misfit(chosen))
    settings = Settings(
        delta=round(1 - confident, 15),
        noise=Gaussian() if noise is None else noise,
        baseline=None if baseline is None else problem.arm_named(baseline),
        **asked,
    )
    question = Description.fresh(
        name or (call.title if file is None else Path(file).stem),
        problem,
        settings,
        chosen,
        direction="minimize" if minimize else "maximize",
        seed=seed,
        on_identical=on_identical,
        on_failure=on_failure,
    )
    kept = None if file is not None else _Scratch()
    path = kept.path if kept else Path(os.fspath(file))  # type: ignore[arg-type]
    with _executor(workers, dask) as executor, _opened(path, question, chosen, seed) as study:
        here = executor == "serial"
        if here and time_limit is not None:
            raise InputError(
                f"time_limit={time_limit:g} needs workers, since a call in this process cannot be "
                'ended: give workers=1 or more, or workers="threads"'
            )
        if not here and not call.is_repeatable:
            raise InputError(
                f"{call.title} takes neither rng nor seed, so processes may draw the same random "
                "numbers: let it take rng (or seed), and draw all that is random from it"
            )
        tries = (0 if here else 2) if retries is None else retries
        interrupted = False
        try:
            study.run(call, executor, retries=tries, progress=_display(progress))
        except StudyInterrupted:
            interrupted = True
        except StudyPaused as pause:
            if kept is None:
                raise pause from call.raised
            raise StudyPaused(pause.what, pause.pull, pause.error, "") from call.raised
        return Answer(study.result, path, interrupted, kept)


class _Scratch:
    """A folder for a study in memory, which goes with the answer."""

    def __init__(self) -> None:
        usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
        self._folder = tempfile.TemporaryDirectory(
            prefix="surefoot-", dir=MEMORY if usable else None, ignore_cleanup_errors=True
        )
        self.path = Path(self._folder.name) / "study.db"


def _problem(
    arms: Any, perturbations: Any, environment: Mapping[str, Value] | None
) -> RobustProblem:
    """Return the problem that was given, in whichever form."""
    pairs = isinstance(arms, RobustProblem) or is_pair_table(arms)
    if pairs and (perturbations is not None or environment is not None):
        raise InputError(
            "arms holds every arm with its perturbations already: leave perturbations and "
            "environment out, or give arms without perturbations"
        )
    if isinstance(arms, RobustProblem):
        problem = arms
    elif pairs:
        by_path = isinstance(arms, str | os.PathLike)
        read: Callable[[Any], RobustProblem]
        read = RobustProblem.from_csv if by_path else RobustProblem.from_frame
        problem = read(arms)
    else:
        problem = RobustProblem.from_lists(_listed(arms), perturbations, environment=environment)
    refuse_reserved(problem.parameter_names)
    return problem


def _listed(arms: Any) -> Any:
    """Return arms that are given by name as a list."""
    if not isinstance(arms, Mapping) or not arms:
        return arms
    if not all(isinstance(values, Mapping) for values in arms.values()):
        return arms
    return [{"name": str(name), **values} for name, values in arms.items()]


def _refuse_unknown(asked: Mapping[str, Any]) -> None:
    """Refuse an option that there is not, naming the one that was meant."""
    known = [*Asked.__annotations__, *inspect.signature(find).parameters][:-1]
    for name in asked:
        if name in ELSEWHERE:
            raise InputError(f"find takes no {name}: give {ELSEWHERE[name]} instead")
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise InputError(f"find has no option {name!r}: {hint}")


def _probability(confidence: Any) -> float:
    try:
        return probability(confidence)
    except InputError:
        raise InputError(
            f"confidence={confidence!r:.60} is no probability between 0 and 1: 0.95 means that a "
            "certified answer is wrong in at most 5 of 100 runs"
        ) from None


def _opened(path: Path, question: Description, algorithm: Algorithm, seed: int | None) -> Study:
    """Make a study, or go on with an existing one of the same question."""
    if not path.exists():
        return Study.begin(path, question, algorithm, {"call": "the same call of sf.find"})
    study = Study.open(path, algorithm=algorithm)
    try:
        changed = study.description.differences(question)
        if seed is None:
            changed.discard("seed")
        if changed:
            raise InputError(
                f"{path} is a study of another question: {', '.join(sorted(changed))} changed. "
                "Change it back to go on, or give another file for a new study"
            )
        if free := study.description.changes(question.settings):
            study.change(**free)
    except BaseException:
        study.close()
        raise
    return study


@contextmanager
def _executor(workers: Any, dask: Any) -> Iterator[Any]:
    if dask is None:
        yield "serial" if workers is None else workers
    elif workers is not None:
        raise InputError("workers and dask are both given: choose one of them")
    elif isinstance(dask, str):
        with dask_client(dask) as client:
            yield client
    else:
        yield dask


def _display(progress: bool | Progress | None) -> Progress | None:
    """Return a progress bar in a terminal or notebook, unless it is chosen."""
    if isinstance(progress, bool | None):
        return NoProgress() if progress is False else progress_if_seen(sys.stderr, progress is True)
    return progress
