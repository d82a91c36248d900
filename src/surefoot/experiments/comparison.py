"""Algorithms side by side: many runs on every instance, as a table and as a chart."""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms import Algorithm, Result, Settings, algorithm_from
from surefoot.errors import InputError
from surefoot.experiments.instances import Instance
from surefoot.experiments.session import Job, Session, opened
from surefoot.noise import Gaussian
from surefoot.proportions import Proportion
from surefoot.simulate import LinearSimulator, Simulator

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

RUNS = 20
DRAWN = 1  # the second number of a key: of instances, not of noise
Generator = Callable[[np.random.Generator], Instance]  # draws an instance anew for each run
Choice = str | Algorithm | Callable[[Instance], Algorithm]
Asked = tuple[Algorithm, Settings]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcome of the runs.

    Attributes:
        runs: one row per run: instance, algorithm, run, samples, certified, correct, good (within
            the tolerance), seconds.
        settings: of all runs.
    """

    runs: pd.DataFrame
    settings: Settings

    def summary(self) -> pd.DataFrame:
        """Return one row per instance and algorithm: mean samples with their standard error, the 10
        and 90 % quantiles, false certificates with their exact interval.
        """
        import pandas as pd

        rows = [
            {"instance": instance, "algorithm": algorithm, **_summed(group)}
            for (instance, algorithm), group in self.runs.groupby(
                ["instance", "algorithm"], sort=False
            )
        ]
        return pd.DataFrame(rows)

    def chart(self) -> alt.LayerChart:
        """Draw mean samples with standard errors, one group per instance."""
        from surefoot.view.charts import samples_chart

        table = self.summary()
        bars = table.assign(
            policy=self.settings.rules,
            low=table["mean"] - table["error"],
            high=table["mean"] + table["error"],
        )
        return samples_chart(bars, "instance")


def compare(
    algorithms: Iterable[str] | Mapping[str, Choice | tuple[Choice, Mapping[str, Any]]],
    instances: Mapping[str, Instance | Generator],
    runs: int | None = None,
    *,
    session: Session | None = None,
    true_noise: Any = 1.0,
    processes: int | None = None,
    **settings: Any,
) -> Comparison:
    """Run every algorithm on every instance; run k of all of them has the same noise stream.

    Args:
        algorithms: names, or by label a name, an instance or a function of the instance, such as
            `{"oracle": lambda instance: sf.algorithms.Oracle(theta=instance[1])}`; "oracle" by
            name is told θ. Settings of its own follow in a tuple: `{"RAGE": ("robust-rage",
            {"rules": "paper"})}`.
        instances: by label, each a problem and its true θ; see `surefoot.experiments.instances`.
            Or a function of a random generator that draws one, such as `lambda rng:
            unit_sphere(20, rng=rng)`: then every run has a fresh instance, the same for all
            algorithms, and means and errors are pooled over them.
        runs: of each; 20 by default, or as many as a session says.
        session: seed, processes, progress, and the folder in which what is finished is kept until
            all is: the same call goes on with the rest.
        processes: where there is no session: how many to use, by default one per core; 0: this
            process alone, for algorithms that a notebook defines.
        true_noise: standard deviation of the Gaussian rewards, one number or one per pair.
        settings: as of `identify`; by default delta is 0.05, the noise Gaussian with scale 1, and
            the model, which is right, is exact (misfit 0) and not tested. An algorithm that has no
            tolerance is run without one; whether an answer is good is judged by it for all.
    """
    usual: dict[str, Any] = {
        "delta": 0.05,
        "noise": Gaussian(1.0),
        "misfit": 0.0,
        "on_misfit": "ignore",
    }
    asked = Settings(**(usual | settings))
    choices = dict(algorithms) if isinstance(algorithms, Mapping) else {a: a for a in algorithms}
    if not choices or not instances:
        raise InputError("there is nothing to compare: give one algorithm and one instance or more")
    if session is not None and runs not in (None, session.runs):
        raise InputError(
            f"runs={runs}, but the session has {session.runs}: give one of them, as in "
            f"Session(runs={runs})"
        )
    with opened(session, RUNS if runs is None else runs, processes) as work:
        met = {place: _met(place, given, work) for place, given in instances.items()}
        made = {
            (place, label): [_made(choice, one, usual | settings) for one in _each_once(each)]
            for place, each in met.items()
            for label, choice in choices.items()
        }
        for (place, _), every in made.items():
            every[0][0].start(met[place][0][0], every[0][1])  # refuses before any run
        jobs = [
            Job(
                f"{place}/{label}/{run}",
                (
                    every[run % len(every)],
                    met[place][run],
                    asked.tolerance,
                    true_noise,
                    (work.seed, run),
                ),
            )
            for (place, label), every in made.items()
            for run in range(work.runs)
        ]
        whole = hashlib.sha256(pickle.dumps((made, met, asked, true_noise)))
        found = work.map("compare", _run, jobs, {"asked": whole.hexdigest()})
    return Comparison(_frame(jobs, found), asked)


def _met(place: str, given: Any, work: Session) -> list[Instance]:
    """Return the instance of each run: the one given, or one drawn for the run."""
    if not callable(given):
        drawn = [given]
    else:
        keys = [(run, DRAWN) for run in range(work.runs)]
        sources = [np.random.SeedSequence(work.seed, spawn_key=key) for key in keys]
        drawn = [given(np.random.default_rng(source)) for source in sources]
    for instance in drawn:
        if not (isinstance(instance, tuple) and len(instance) == 2):
            raise InputError(
                f"instance {place!r} is a {type(instance).__name__}: give the problem and its true "
                "θ, as in {name: (problem, theta)}, or a function of a generator that draws both"
            )
    return drawn if callable(given) else drawn * work.runs


def _each_once(met: list[Instance]) -> list[Instance]:
    return met if any(one is not met[0] for one in met) else met[:1]


def _made(choice: Any, instance: Instance, settings: dict[str, Any]) -> Asked:
    """Return an algorithm for an instance, and the settings that it takes: not all have a
    tolerance.
    """
    choice, own = choice if isinstance(choice, tuple) else (choice, {})
    if isinstance(choice, str):
        told = {"theta": instance[1]} if choice == "oracle" else {}
        algorithm = algorithm_from(choice, **told)
    else:
        algorithm = choice if isinstance(choice, Algorithm) else choice(instance)
    asked = Settings(**(settings | dict(own)))
    return algorithm, asked if "tolerance" in algorithm.supports else replace(asked, tolerance=0.0)


def _run(
    asked: Asked, instance: Instance, tolerance: float, true_noise: Any, seed: tuple[int, int]
) -> dict[str, Any]:
    """Return one run, as a journal keeps it."""
    algorithm, settings = asked
    (problem, theta), (root, number) = instance, seed
    source = np.random.SeedSequence(root, spawn_key=(number,))
    simulator = LinearSimulator(problem, theta, true_noise, seed=source)
    begun = time.perf_counter()
    result = finished(algorithm.start(problem, settings), simulator).result
    values = problem.robust_values(theta)
    return {
        "run": number,
        **asdict(Counted.of(result, problem.best_arm(theta))),
        "good": bool(values[result.arm] >= values.max() - tolerance),
        "seconds": time.perf_counter() - begun,
    }


@dataclass(frozen=True)
class Counted:
    """The figures of one run."""

    samples: int
    certified: bool
    correct: bool

    @classmethod
    def of(cls, result: Result, best: int) -> Counted:
        """Count a result where this arm is the best."""
        return cls(int(result.samples), bool(result.certified), bool(result.arm == best))


def finished(run: Algorithm, simulator: Simulator) -> Algorithm:
    """Pull until a run is over; return it, with all that it remembers."""
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return run


def _frame(jobs: list[Job], found: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    labels = [job.key.rsplit("/", 1)[0].rsplit("/", 1) for job in jobs]
    rows = [
        {"instance": place, "algorithm": label, **row}
        for (place, label), row in zip(labels, found, strict=True)
    ]
    return pd.DataFrame(rows)


def _summed(group: pd.DataFrame) -> dict[str, Any]:
    samples, count = group["samples"].to_numpy(), len(group)
    wrong = Proportion(int((group["certified"] & ~group["good"]).sum()), count)
    low, high = np.quantile(samples, [0.1, 0.9])
    return {
        "runs": count,
        "mean": float(samples.mean()),
        "error": float(samples.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0,
        "tenth": float(low),
        "nine_tenths": float(high),
        "certified": int(group["certified"].sum()),
        "wrong": wrong.count,
        "wrong_at_least": wrong.interval()[0],
        "wrong_at_most": wrong.interval()[1],
        "seconds": float(group["seconds"].mean()),
    }
