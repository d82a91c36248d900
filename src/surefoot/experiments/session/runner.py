"""A session of experiments spreads jobs over workers and keeps what is finished, so that the same
command can go on with the rest.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from surefoot.errors import InputError
from surefoot.experiments.session.journal import Journal
from surefoot.experiments.session.output import Folder
from surefoot.experiments.session.progress import Meter
from surefoot.experiments.session.workers import Cluster, JobWorkers, Processes
from surefoot.study.run.executors import is_loss
from surefoot.system.interrupts import last_words
from surefoot.system.processes import cores
from surefoot.system.progress import JobProgress, NoProgress


class Stopped(RuntimeError):
    """The experiment ended before its time; the message says why, and that it can go on."""


class Interrupted(Stopped):
    """Somebody pressed Ctrl-C."""


@dataclass(frozen=True)
class Job:
    """A piece of work that does not depend on any other.

    Attributes:
        key: its name within the experiment; must tell it apart under all options.
        arguments: what the experiment's function is called with; picklable.
        weight: how much work it is compared with the others, for the remaining time; the heaviest
            begin first.
    """

    key: str
    arguments: tuple[Any, ...]
    weight: float = 1.0


@dataclass
class Session:
    """How an experiment is run, and where what is finished is kept until all of it is.

    Attributes:
        runs: how often each instance is run.
        seed: of all randomness.
        out: the folder for tables and figures.
        command: what the user typed, for the sidecar.
        processes: how many to use on this machine; None: one per core.
        dask: the address of a Dask scheduler to use instead.
        progress: is told how far the jobs are.
    """

    runs: int = 20
    seed: int = 0
    out: Path = Path("results")
    command: str = ""
    processes: int | None = None
    dask: str | None = None
    progress: JobProgress = field(default_factory=NoProgress)
    _journals: list[Journal] = field(default_factory=list, init=False)
    _workers: JobWorkers | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name, least in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(
                    f"{name}={value} is not possible: give a whole number of at least {least}"
                )
        self.folder = Folder(self.out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After success nothing is left to continue; otherwise what is finished stays."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.stop()
        while self._journals:
            journal = self._journals.pop()
            if kind is None:
                journal.remove()
            else:
                journal.close()

    def map(
        self,
        experiment: str,
        function: Callable[..., Any],
        jobs: Sequence[Job],
        identity: dict[str, Any] | None = None,
    ) -> list[Any]:
        """Call `function(*job.arguments)` for every job; the results come in the order of the jobs.

        Args:
            experiment: what is being done, for people and for the journal's name.
            function: must stand in a module, where workers can find it; what it returns must
                survive JSON, in which dataclasses become dictionaries.
            identity: what else decides the results, besides the seed and the code. Leave out the
                number of runs if a session of more runs can use the jobs of one with fewer.
        """
        journal = Journal(self.out, experiment, {"seed": self.seed} | (identity or {}))
        self._journals.append(journal)
        left = sorted(
            (job for job in jobs if job.key not in journal.results), key=lambda job: -job.weight
        )
        if left:
            self._work(journal, function, left, sum(job.weight for job in jobs))
        return [journal.results[job.key] for job in jobs]

    def _work(
        self, journal: Journal, function: Callable[..., Any], left: list[Job], total: float
    ) -> None:
        done = total - sum(job.weight for job in left)
        try:
            with (
                Meter(self.progress, journal.experiment, total, done) as meter,
                last_words(lambda: _interrupted(journal, left)),
            ):
                futures = self._started_workers().submit_all(
                    function, [job.arguments for job in left]
                )
                job_of = dict(zip(futures, left, strict=True))
                for future in as_completed(futures):
                    journal.record(job_of[future].key, future.result())
                    meter.advance(job_of[future].weight)
        except KeyboardInterrupt:
            raise Interrupted(_interrupted(journal, left)) from None
        except Exception as error:
            if not is_loss(error):
                raise
            raise Stopped(
                f"a worker died ({type(error).__name__}): it was killed, or there was not enough "
                f"memory. {_how_to_go_on(journal, left)}; fewer processes need less memory. "
                'If none ever starts in a script, put the call under if __name__ == "__main__":'
            ) from error

    def _started_workers(self) -> JobWorkers:
        if self._workers is None:
            self._workers = (
                Cluster(self.dask) if self.dask else Processes(self.processes or cores())
            )
        return self._workers


@contextlib.contextmanager
def opened(session: Session | None, runs: int) -> Iterator[Session]:
    """The session given; else a passing one of this many runs, which keeps nothing."""
    if session is not None:
        with session:
            yield session
        return
    with tempfile.TemporaryDirectory() as folder, Session(runs=runs, out=Path(folder)) as passing:
        yield passing


def _interrupted(journal: Journal, left: list[Job]) -> str:
    return f"interrupted. {_how_to_go_on(journal, left)}"


def _how_to_go_on(journal: Journal, left: list[Job]) -> str:
    missing = sum(job.key not in journal.results for job in left)
    return (
        f"{len(journal.results)} jobs are finished and kept, {missing} are left: "
        f"the same command goes on with them"
    )
