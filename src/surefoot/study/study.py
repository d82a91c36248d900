"""Study: ask and tell, run and resume, with every reward on disk."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from surefoot.algorithms import Algorithm, Result, Settings, algorithm_from
from surefoot.errors import InputError, SurefootWarning
from surefoot.noise import Noise
from surefoot.problem import RobustProblem
from surefoot.progress import Progress, Snapshot
from surefoot.study import schema
from surefoot.study.description import Description, Direction
from surefoot.study.forecast import expected_left, left_now
from surefoot.study.input import finite_reward, pull_count, pull_number
from surefoot.study.phase import OpenPhase
from surefoot.study.pull import Pull, PullFactory, Report
from surefoot.study.replay import replay, summary
from surefoot.study.storage import StoredPhase, WriteStorage

State = Literal["running", "paused", "finished"]


class Study:
    """A run with a real simulator, kept in one file. Make one with `Study.create` or `Study.open`.

    By hand: `for pull in study.ask(): study.tell(pull.id, reward)`. With a simulator: `study.run(simulator)`.
    """

    def __init__(self, storage: WriteStorage, algorithm: Algorithm | None = None) -> None:
        self._storage = storage
        self._mutex = threading.RLock()
        entries = storage.entries()
        self._own_algorithm = algorithm
        self._file: str | None = (entries["configuration"] or {}).get("file")
        self.state: State = entries["state"]
        self.message: str | None = entries["message"]
        self._load(Description.from_entries(entries))

    def _load(self, description: Description) -> None:
        """Replay what is stored, and go on with the phase that is open or plan the next one."""
        self.description, self._algorithm = description, description.start(self._own_algorithm)
        self._make_pull = PullFactory(self.problem, self.id, description.seed)
        self._next_number, self._expected_left, self._forecast_due = 0, None, False
        unfinished = replay(description, self._algorithm, self._counted(self._storage.phases()))
        if self._algorithm.history:
            known = self._storage.summary(len(self._algorithm.history) - 1) or self._note_phase()
            self._forecast_due = "expected_left" not in known
            self._expected_left = known.get("expected_left")
        self._phase = OpenPhase(unfinished) if unfinished else self._plan()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        problem: RobustProblem,
        algorithm: str | Algorithm = "prime",
        *,
        delta: float,
        noise: Noise,
        tolerance: float = 0.0,
        budget: int | None = None,
        confidence: Literal["valid", "paper"] = "valid",
        on_misfit: Literal["reject", "ignore"] = "reject",
        direction: Direction = "maximize",
        seed: int | None = None,
        name: str | None = None,
        configuration: dict[str, Any] | None = None,
    ) -> Study:
        """Make a new study file and open it.

        Args:
            algorithm: a name, or an instance with options of its own.
            direction: "minimize" looks for the smallest worst case, which is then the largest over the perturbations.
            seed: of all the pulls' random streams; drawn afresh if None.
            name: shown in reports; the name of the file if None.
            configuration: kept with the study: what `surefoot run` was given.
        """
        settings = Settings(
            delta=delta, noise=noise, confidence=confidence, tolerance=tolerance, budget=budget, on_misfit=on_misfit
        )
        chosen = algorithm_from(algorithm)
        description = Description.fresh(name or Path(path).stem, problem, settings, chosen, direction, seed)
        description.start(chosen)  # refuses what cannot work before there is a file
        entries = description.to_entries() | {
            "created": time.time(),
            "configuration": configuration,
            "state": "running",
            "message": None,
        }
        schema.make(Path(path), {key: json.dumps(value) for key, value in entries.items()})
        return cls.open(path, algorithm=chosen)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, algorithm: Algorithm | None = None) -> Study:
        """Open a study to go on with it, exactly where it stopped. One process at a time; readers use StudyReader.

        Args:
            algorithm: only if the study was made with an algorithm that surefoot does not ship.
        """
        storage = WriteStorage(path)
        try:
            return cls(storage, algorithm)
        except BaseException:
            storage.close()
            raise

    @property
    def id(self) -> str:
        return self.description.id

    @property
    def problem(self) -> RobustProblem:
        return self.description.problem

    @property
    def path(self) -> Path:
        return self._storage.path

    @property
    def done(self) -> bool:
        """Whether the study needs no more pulls."""
        return self._phase is None

    @property
    def result(self) -> Result:
        """The answer as it stands after the last complete phase, for rewards to be maximised."""
        return self._algorithm.result

    @property
    def told(self) -> int:
        """Rewards stored so far."""
        return self._next_number - (self._phase.missing if self._phase else 0)

    @property
    def waiting(self) -> int:
        """Pulls of this phase that are not handed out at the moment."""
        return self._phase.waiting if self._phase else 0

    def ask(self, n: int | None = None, *, remember: bool = False) -> list[Pull]:
        """Pulls to be simulated now: at most n, or all of this phase that are not handed out.

        Empty if the study is done, or if it waits for rewards of pulls that are handed out. A for loop over `ask()`
        (without n) goes on into the next phases as long as each phase is told completely. What was handed out and not
        told is handed out again after reopening.

        Args:
            remember: note on disk what is handed out, and leave out what was so handed out before, by any process.
        """
        with self._mutex:
            if remember and self._phase:
                self._phase.hold_back(self._storage.asked())
            pulls = self.take(self.waiting if n is None else pull_count(n))
            if remember:
                self._storage.mark([pull.id for pull in pulls], "asked")
        return _Asked(self, pulls) if n is None else pulls

    def outstanding(self) -> list[Pull]:
        """Pulls that a remembering `ask` handed out and whose rewards are not told yet."""
        return [self._pull(number) for number in sorted(self._storage.asked())]

    def tell(self, pull: int | Pull, reward: float, *, study: str | None = None) -> bool:
        """Store the reward of a pull, as measured. False, with a warning, if it has one already.

        Args:
            pull: the pull or its number.
            study: the identifier that stood beside the number, to make sure that both belong to this study.
        """
        number = pull.id if isinstance(pull, Pull) else pull
        claimed = pull.study if isinstance(pull, Pull) and study is None else study
        return self.tell_many([(number, reward)], study=claimed) == 1

    def tell_many(self, rewards: Iterable[tuple[int, float]], *, study: str | None = None) -> int:
        """Store several rewards in one write, all of them or, if one is refused, none. Gives how many were new."""
        if study is not None and study != self.id:
            raise InputError(f"this reward belongs to study {study!r}, but {self.path} is study {self.id!r}")
        now = time.time()
        with self._mutex:
            reports = [
                Report(pull_number(n, self._next_number), finite_reward(n, reward), None, None, now)
                for n, reward in rewards
            ]
            new = self._without_repeats(reports)
            self._record(new)
            self.forecast()
            if new:
                self.resume()
        return len(new)

    def run(
        self,
        simulator: Callable[[Pull], float],
        executor: Any = None,
        *,
        max_in_flight: int | None = None,
        retries: int = 2,
        progress: Progress | None = None,
    ) -> Result:
        """Pull until the study is done.

        Args:
            simulator: gives the reward of a pull.
            executor: None (a process on each core), a number of processes, "threads", "serial", any object with
                submit() such as a concurrent.futures executor, or a Dask client.
            max_in_flight: at most this many pulls are handed out at a time.
            retries: how often a failed pull is tried again before the study pauses. A lost worker does not count.
            progress: an object that is told how far the study is; see surefoot.progress.

        Raises:
            StudyPaused: a pull failed more often than `retries` allows.
            StudyInterrupted: SIGINT; the study is in order. A second SIGINT does not wait for running pulls.
        """
        from surefoot.study.runner import Runner

        with Runner(self, simulator, executor, max_in_flight, retries, progress) as runner:
            return runner.run()

    def pause(self, message: str) -> None:
        """Say in the file why the study does not go on by itself."""
        self._set_state("paused", message)

    def resume(self) -> None:
        """Take up a study if it is paused: failed pulls may be tried again."""
        if self.state == "paused":
            self._storage.release_failed()
            self._set_state("running", None)

    def change_budget(self, budget: int | None) -> None:
        """Allow more pulls, or fewer: the one setting that may change, since it decides only where a run is cut off."""
        with self._mutex:
            settings = replace(self.description.settings, budget=budget)
            if budget is not None and budget < self._next_number:
                raise InputError(f"budget={budget} is below the {self._next_number} pulls that were asked for already")
            description = replace(self.description, settings=settings)
            self._refuse_other_plans(description)
            self._storage.set_entries(settings=description.to_entries()["settings"])
            self._set_state("running", None)
            self._load(description)

    def _refuse_other_plans(self, description: Description) -> None:
        try:
            replay(description, description.start(self._own_algorithm), self._storage.phases())
        except InputError:
            raise InputError(
                f"{self.description.algorithm} planned with its budget of {self.description.settings.budget}, so it "
                "cannot be changed: start a new study"
            ) from None

    def close(self) -> None:
        """Close the file; another process may write to it then."""
        with self._mutex:
            self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.state}, {self.told} rewards)\n{self.result!r}"

    # What the runner uses.

    def take(self, n: int) -> list[Pull]:
        """Hand out up to n pulls of this phase."""
        with self._mutex:
            return [self._pull(number) for number in self._phase.take(n)] if self._phase else []

    def needs(self, number: int) -> bool:
        """Whether this pull belongs to the current phase and has no reward yet."""
        return self._phase is not None and self._phase.needs(number)

    def give_back(self, numbers: Iterable[int]) -> None:
        """Pulls that were handed out and came to nothing wait again."""
        with self._mutex:
            if self._phase:
                self._phase.give_back(numbers)

    def record(self, reports: Iterable[Report], final_failure: int | None = None) -> None:
        """Store what workers report; a reward that was told meanwhile stays."""
        with self._mutex:
            self._record([r for r in reports if self.needs(r.id)], final_failure)

    def record_losses(self, numbers: Iterable[int], error: str) -> None:
        """Count pulls whose worker died."""
        self._storage.record_losses(numbers, error)

    def forecast(self) -> None:
        """Work out how many pulls will follow, once a phase: the runner does so while its workers are busy."""
        with self._mutex:
            if self._forecast_due:
                self._forecast_due = False
                self._expected_left = expected_left(self._algorithm)
                self._note_phase(expected_left=self._expected_left)

    def snapshot(self, in_flight: int, pulls_per_second: float | None, trouble: str | None) -> Snapshot:
        """How far the study is."""
        last = self._algorithm.history[-1] if self._algorithm.history else None
        size, told = (self._phase.size, self._phase.told) if self._phase else (0, 0)
        return Snapshot(
            told=self.told,
            phase=len(self._algorithm.history),
            phase_pulls=size,
            phase_told=told,
            in_flight=in_flight,
            survivors=int(last.survivors.sum()) if last else self.problem.n_arms,
            leader=self.problem.arm_names[last.leader] if last else None,
            expected_left=left_now(self._expected_left, size, told),
            pulls_per_second=pulls_per_second,
            trouble=trouble,
        )

    @property
    def command(self) -> str:
        """What a user types to go on."""
        return f"`surefoot run {self._file}`" if self._file else "study.run(simulator)"

    # The phase that is being pulled.

    _phase: OpenPhase | None
    _expected_left: float | None

    def _counted(self, phases: Iterable[StoredPhase]) -> Iterator[StoredPhase]:
        for phase in phases:
            self._next_number = phase.first_pull + len(phase.pairs)
            yield phase

    def _plan(self) -> OpenPhase | None:
        """Store the next phase, or that there is none."""
        planned = self._algorithm.next_phase()
        if planned is None:
            self._finish()
            return None
        phase = OpenPhase.planned(planned, self._next_number, self.description.seed)
        self._storage.add_phase(planned.index, self._next_number, phase.stored.pairs)
        self._next_number += phase.size
        return phase

    def _finish(self) -> None:
        if self.state != "finished":
            if self._algorithm.history:
                self._note_phase(expected_left=0.0)
            self._expected_left, self._forecast_due = 0.0, False
            result = summary(self.result)
            self._storage.set_entries(result=result)
            self._set_state("finished", result["sentence"])

    def _pull(self, number: int) -> Pull:
        assert self._phase is not None
        return self._make_pull(number, self._phase.stored.index, self._phase.pair(number))

    def _without_repeats(self, reports: list[Report]) -> list[Report]:
        new: dict[int, Report] = {}
        for report in reports:
            if report.id in new or not self.needs(report.id):
                warnings.warn(
                    f"pull {report.id} has its reward already: the first one counts, {report.reward!r} is ignored",
                    SurefootWarning,
                    stacklevel=4,
                )
            else:
                new[report.id] = report
        return list(new.values())

    def _record(self, reports: list[Report], final_failure: int | None = None) -> None:
        if not reports or self._phase is None:
            return
        self._storage.record(reports, final_failure)
        for report in reports:
            if report.reward is not None:
                self._phase.set_reward(report.id, report.reward)
        if not self._phase.missing:
            self._algorithm.update(self.description.outcome(self._phase.stored))
            self._note_phase()
            self._forecast_due = True
            self._phase = self._plan()

    def _note_phase(self, **more: Any) -> dict[str, Any]:
        """Store what is known after the last complete phase, for readers."""
        known = summary(self.result) | more
        self._storage.finish_phase(len(self._algorithm.history) - 1, known)
        return known

    def _set_state(self, state: State, message: str | None) -> None:
        self.state, self.message = state, message
        self._storage.set_entries(state=state, message=message)


class _Asked(list[Pull]):
    """The pulls of a phase; a for loop goes on with the next phase if all of these are told by then."""

    def __init__(self, study: Study, pulls: list[Pull]) -> None:
        super().__init__(pulls)
        self._study = study

    def __iter__(self) -> Iterator[Pull]:
        pulls: list[Pull] = self
        while pulls:
            yield from list[Pull].__iter__(pulls)
            pulls = self._study.ask()
