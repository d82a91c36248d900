"""Study: ask and tell, run and resume, with every reward on disk."""

from __future__ import annotations

import json
import numbers
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, Unpack

from surefoot.algorithms import Algorithm, Result, Settings, algorithm_from
from surefoot.algorithms.settings import Asked, default_misfit
from surefoot.errors import InputError, SurefootWarning
from surefoot.noise import Noise
from surefoot.problem.problem import RobustProblem
from surefoot.study.file.chain import fingerprint_of
from surefoot.study.file.description import Description, Direction, OnFailure, OnIdentical
from surefoot.study.file.storage import WriteStorage, schema
from surefoot.study.file.storage.records import Standing, State
from surefoot.study.input import Reading, Simulated, finite_reward, outputs_of
from surefoot.study.ledger import Ledger
from surefoot.study.provenance import Simulators
from surefoot.study.pull import Pull, Report, refuse_reserved
from surefoot.system.progress import Progress


class Study:
    """A run with a real simulator, kept in one file. Make one with `Study.create` or `Study.open`.

    By hand: `for pull in study.pulls(): study.tell(pull, reward)`. With a simulator:
    `study.run(simulator)`.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        problem: RobustProblem,
        algorithm: str | Algorithm = "prime",
        *,
        delta: float,
        noise: Noise,
        baseline: str | None = None,
        on_identical: OnIdentical = "refuse",
        on_failure: OnFailure = "retry",
        direction: Direction = "maximize",
        seed: int | None = None,
        name: str | None = None,
        configuration: dict[str, Any] | None = None,
        **asked: Unpack[Asked],
    ) -> Study:
        """Make a new study file and open it; `Settings` describes further arguments.

        No model is trusted unless `misfit` says so or the algorithm relies on one. A guide is given
        by its name, or as "module:attribute" of a module that is imported. With common random
        numbers simulators must use `pull.rng()`, `pull.stream(k)` or `pull.seed` for all that is
        random.

        Args:
            algorithm: a name, or an instance with options of its own.
            on_identical: "refuse" ends a study whose pulls of a pair all give one reward, to the
                last bit, as a fixed seed does; "accept" is for simulators without noise.
            on_failure: "retry" tries a failed pull again, as often as `run` may; a number is the
                reward that it counts as, at once; "worst" the worst that `Bounded` rewards can be.
            direction: "minimize" looks for the smallest largest value over the perturbations.
            seed: of all the pulls' random streams; drawn afresh if None.
            name: shown in reports; the name of the file if None.
            configuration: of `surefoot run`, kept with the study.
        """
        refuse_reserved(problem.parameter_names)
        chosen = algorithm_from(algorithm)
        asked.setdefault("misfit", default_misfit(chosen))
        settings = Settings(delta=delta, noise=noise, baseline=baseline, **asked)
        description = Description.fresh(
            name or Path(path).stem,
            problem,
            settings,
            chosen,
            direction=direction,
            seed=seed,
            on_identical=on_identical,
            on_failure=on_failure,
        )
        return cls.begin(path, description, chosen, configuration)

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        description: Description,
        algorithm: Algorithm,
        configuration: dict[str, Any] | None = None,
    ) -> Study:
        """Make a new study file from a description that is made already; the rest as `create`."""
        now = time.time()
        standing = Standing(created=now, configuration=configuration, state="running", message=None)
        entries = description.to_entries() | standing.model_dump()
        entries["head"] = description.head.hex()
        entries["fingerprint"] = fingerprint_of(description.head, Simulators())
        schema.make(Path(path), {key: json.dumps(value) for key, value in entries.items()})
        return cls.open(path, algorithm=algorithm)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, algorithm: Algorithm | None = None) -> Study:
        """Open a study to go on where it stopped, one process at a time; else use StudyReader.

        Args:
            algorithm: needed if the study was made with an algorithm that surefoot does not ship. A
                study with a kernel may go on with any planner.
        """
        storage = WriteStorage(path)
        try:
            return cls(Ledger(storage, algorithm))
        except BaseException:
            storage.close()
            raise

    @property
    def description(self) -> Description:
        """The question of the study: problem, settings, algorithm, direction, seed."""
        return self._ledger.description

    @property
    def id(self) -> str:
        """A random identifier; each pull carries it."""
        return self.description.id

    @property
    def problem(self) -> RobustProblem:
        return self.description.problem

    @property
    def path(self) -> Path:
        return self._ledger.storage.path

    @property
    def state(self) -> State:
        """ "running", "paused" or "finished"."""
        return self._ledger.state

    @property
    def message(self) -> str | None:
        """Why it is paused or finished."""
        return self._ledger.message

    @property
    def done(self) -> bool:
        """True if the study needs no more pulls."""
        return self._ledger.done

    @property
    def told(self) -> int:
        """Rewards stored so far."""
        return self._ledger.told

    @property
    def result(self) -> Result:
        """The answer as it stands after the last complete phase."""
        return self._ledger.result

    def ask(self, n: int | None = None, *, remember: bool = False) -> list[Pull]:
        """Return pulls to be simulated now: at most n, or all of open phases that are not handed
        out.

        Empty if the study is done, or if it waits for rewards of pulls that are handed out; a new
        phase follows when all pulls of the oldest are told. Pulls handed out and not told are
        handed out again after reopening.

        Args:
            remember: store on disk which pulls are handed out, and leave out those so stored
                before.
        """
        ledger = self._ledger
        with ledger.mutex:
            if remember:
                ledger.hold_back(ledger.storage.asked())
            pulls = ledger.take(ledger.waiting if n is None else _pull_count(n))
            if remember:
                ledger.storage.mark([pull.id for pull in pulls], "asked")
        return pulls

    def pulls(self) -> Iterator[Pull]:
        """Hand out pulls phase after phase; it ends with the study, or with a phase left untold."""
        while pulls := self.ask():
            yield from pulls

    def outstanding(self) -> list[Pull]:
        """Return the pulls that a remembering `ask` handed out and whose rewards are not
        told yet.
        """
        asked = filter(self._ledger.needs, sorted(self._ledger.storage.asked()))
        return [self._ledger.pull(number) for number in asked]

    @property
    def called_off(self) -> tuple[int, int]:
        """Pulls in flight when the study was over, and how many of them had been simulated.

        The answer rests on none of them. (0, 0) while it is not over.
        """
        return self._ledger.called_off

    def pull(self, number: int) -> Pull | None:
        """Return a pull of an open phase by its number; None for other pulls."""
        return self._ledger.pull(number) if self._ledger.holds(number) else None

    def tell(self, pull: int | Pull, reward: Simulated, *, study: str | None = None) -> bool:
        """Store the reward of a pull, as measured. False, with a warning, if it has one already.

        Args:
            pull: the pull, with its charged cost, or its number.
            reward: one number; or, where the study names an objective, its outputs by name.
            study: the identifier that stood beside the number, to make sure that both belong to
                this study.
        """
        return self.tell_many([(pull, reward)], study=study) == 1

    def tell_many(
        self, rewards: Iterable[tuple[int | Pull, Simulated]], *, study: str | None = None
    ) -> int:
        """Store several rewards in one write, all or none; return how many were new."""
        now, ledger, given = time.time(), self._ledger, list(rewards)
        with ledger.mutex:
            checked = self._checked(given, study)
            costs = [pull.charged if isinstance(pull, Pull) else None for pull, _ in given]
            new = self._without_repeats(
                [
                    Report(number, told.reward, None, None, now, cost, told.others)
                    for (number, told), cost in zip(checked, costs, strict=True)
                ]
            )
            ledger.record(new)
            if new:
                ledger.resume()
            ledger.note_last()
        return len(new)

    def correct(self, pull: int | Pull, reward: Simulated) -> None:
        """Replace a reward that was told wrongly, before its phase ends; the old one is kept
        too."""
        self.correct_many([(pull, reward)])

    def correct_many(
        self, rewards: Iterable[tuple[int | Pull, Simulated]], *, study: str | None = None
    ) -> None:
        """Replace several rewards in one write, all of them or, if one is refused, none."""
        with self._ledger.mutex:
            self._ledger.correct(dict(self._checked(rewards, study)))

    def run(
        self,
        simulator: Callable[..., Simulated],
        executor: Any = None,
        *,
        max_in_flight: int | None = None,
        retries: int = 2,
        progress: Progress | None = None,
        accept_change: str | None = None,
    ) -> Result:
        """Pull until the study is done.

        Args:
            simulator: gives the reward of a pull, or its outputs by name: a function of named
                parameters, of which `find` says more, or of a pull.
            executor: None (a process on each core), a number of processes, "threads", "serial", any
                object with submit() such as a concurrent.futures executor, or a Dask client.
            max_in_flight: at most this many pulls are handed out at a time.
            retries: how often a failed pull is tried again before the study pauses. A lost worker
                does not count.
            progress: an object that is told how far the study is; see surefoot.system.progress.
                None: no display here, but forecasts for status and dashboard. NoProgress(): no
                display and no forecasts.
            accept_change: why the rewards of a simulator that was changed mean the same as before;
                see `accept_change`.

        Raises:
            StudyPaused: a pull failed more often than `retries` allows.
            StudyInterrupted: SIGINT; the study is in order. A second SIGINT does not wait for
                running pulls.
        """
        from surefoot.study.run.runner import Limits, Runner

        limits = Limits(max_in_flight, retries)
        with Runner(self._ledger, simulator, executor, limits, progress) as runner:
            if accept_change is not None:
                self.accept_change(accept_change)
            return runner.run()

    def accept_change(self, reason: str) -> None:
        """Accept all changes of the simulator up to now; until then no answer is certified.

        Args:
            reason: why its rewards mean the same as before. It is stored, and stands in status,
                report and certificate.
        """
        self._ledger.accept_change(reason)

    def keep(self, configuration: dict[str, Any]) -> None:
        """Keep with the study the latest configuration of `surefoot run`, and log a difference.

        Args:
            configuration: as `create` takes it.
        """
        self._ledger.keep(configuration)

    def change(self, **settings: Any) -> None:
        """Change how the study goes on, not its question; the change is logged.

        Args:
            settings: any of budget (None: no limit), guide, parallel, in_flight, unseen and cost,
                as in `create`. Phases that are open are finished as they were planned.
        """
        self._ledger.change(settings)

    @property
    def how_to_go_on(self) -> str:
        """The command with which a user goes on with the study."""
        return self._ledger.command

    def close(self) -> None:
        """Close the file; another process may write to it then."""
        with self._ledger.mutex:
            self._ledger.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _checked(
        self, rewards: Iterable[tuple[int | Pull, Any]], study: str | None
    ) -> list[tuple[int, Reading]]:
        """Return the pulls that this study asked for, with rewards that they may have had."""
        self._refuse_another(study)
        known = [(self._number(pull, study), given) for pull, given in rewards]
        checked = [(number, _finite(number, given)) for number, given in known]
        return [(n, self._ledger.description.reading(n, given)) for n, given in checked]

    def _number(self, pull: int | Pull, study: str | None) -> int:
        if not isinstance(pull, Pull):
            return _pull_number(pull, self._ledger.asked)
        if study is None:
            self._refuse_another(pull.study)
        return _pull_number(pull.id, self._ledger.asked)

    def _refuse_another(self, study: str | None) -> None:
        own = self._ledger.description.id
        if study is not None and study != own:
            raise InputError(
                f"this reward belongs to study {study!r:.60}, but {self._ledger.storage.path} "
                f"is study {own!r}"
            )

    def _without_repeats(self, reports: list[Report]) -> list[Report]:
        new: dict[int, Report] = {}
        repeated: list[Report] = []
        for report in reports:
            if self._ledger.was_called_off(report.id):
                warnings.warn(
                    f"pull {report.id} was called off, since the study had its answer without it: "
                    f"{report.reward!r} is ignored",
                    SurefootWarning,
                    stacklevel=5,
                )
            elif report.id in new or not self._ledger.needs(report.id):
                repeated.append(report)
            else:
                new[report.id] = report
        if repeated:
            first = repeated[0]
            more = f", and {len(repeated) - 1} more like it" if repeated[1:] else ""
            warnings.warn(
                f"pull {first.id} has its reward already: the first one counts, "
                f"{first.reward!r} is ignored{more}",
                SurefootWarning,
                stacklevel=4,  # the caller of Study.tell
            )
        return list(new.values())

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.state}, {self.told} rewards)\n{self.result!r}"


def _finite(pull: int, given: Any) -> Simulated:
    """Return a finite number, or several by name."""
    if not isinstance(given, Mapping):
        return finite_reward(pull, given)
    try:
        return outputs_of(given)
    except InputError as error:
        raise InputError(f"pull {pull}: {error}") from None


def _pull_count(n: Any) -> int:
    """Return how many pulls are asked for."""
    if not isinstance(n, numbers.Integral) or n < 1:
        raise InputError(
            f"ask was given n={n!r}: give how many pulls you want, 1 or more, or nothing for all"
        )
    return int(n)


def _pull_number(number: Any, asked: int) -> int:
    """Return the number of a pull, if the study has asked for it."""
    if (
        not isinstance(number, numbers.Integral)
        or isinstance(number, bool)
        or not 0 <= int(number) < asked
    ):
        known = f"pulls 0 to {asked - 1}" if asked else "no pull"
        raise InputError(f"there is no pull {number!r} in this study: it has asked for {known}")
    return int(number)
