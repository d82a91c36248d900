"""A session of experiments spreads jobs over workers and keeps finished ones on disk, so that
repeating the command runs only the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import surefoot
from surefoot.errors import InputError
from surefoot.study.run.executors import dask_client, is_loss
from surefoot.system.interrupts import SENTENCE, deferred, farewell
from surefoot.system.processes import ProcessPool, cores
from surefoot.system.progress import JobProgress, JobsSnapshot, NoProgress

PACKAGE = Path(surefoot.__file__).parent
FOLDER = ".unfinished"
LIBRARIES = ("surefoot", "numpy", "scipy", "numba", "pandas")


class _Journal:
    """The results of one experiment as they come in.

    Its name holds a digest of everything that decides the results: other options, another seed or
    changed code begin another journal, so results that are read back equal results computed now.

    Attributes:
        experiment: whose results they are.
        results: by job, after a round trip through JSON, so that a result just computed equals one
            read.

    Args:
        identity: everything that decides the results, besides the code and the versions of
            libraries.
    """

    def __init__(self, out: Path, experiment: str, identity: dict[str, Any]) -> None:
        self.experiment = experiment
        whole = json.dumps([identity, versions(), code_digest()], sort_keys=True)
        digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
        self.path = out / FOLDER / f"{experiment}-{digest}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise InputError(
                f"{experiment} with these options is already running into {out}: wait for it, or "
                f"give another folder"
            ) from None
        self.results = self._read()

    def record(self, job: str, result: Any) -> None:
        """Keep a finished job; dataclasses become plain values."""
        line = json.dumps([job, result], default=asdict)
        self.results[job] = json.loads(line)[1]
        self._file.write(line.encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """Forget the unfinished runs: the experiment is complete and its tables are written."""
        self.path.unlink(missing_ok=True)
        self.close()
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _read(self) -> dict[str, Any]:
        """Return the results of whole lines; cut off the end of a line whose writer was killed."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        return dict(json.loads(line) for line in content[:whole].splitlines())


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can change a result."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in LIBRARIES
    }


def code_digest() -> str:
    """Return a digest of the package's own code and data."""
    digest = hashlib.sha256()
    for path in sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")):
        digest.update(str(path.relative_to(PACKAGE)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class _Folder:
    """The folder of results. It is made, and tried, before any work is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as error:
            raise InputError(
                f"nothing can be written to {path} ({error.strerror}): give another folder"
            ) from None

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """Yield a temporary folder, whose files move to the real one if no error occurs."""
        stage = Path(tempfile.mkdtemp(prefix=".writing-", dir=self.path))

        def discard() -> str:
            shutil.rmtree(stage)
            return SENTENCE

        try:
            with farewell(discard):
                yield stage
            with deferred():  # all at once
                for file in sorted(stage.iterdir()):
                    file.replace(self.path / file.name)
        finally:
            shutil.rmtree(stage)


class Meter:
    """Counts finished work and tells a display, until the block ends.

    Args:
        title: of the work.
        work: of all jobs, in the unit of their weights.
        done: of those that were finished before.
    """

    def __init__(self, display: JobProgress, title: str, work: float, done: float = 0.0) -> None:
        self._display, self._title, self._work = display, title, work
        self._before = self._done = done
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        self._tell(None)
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()

    def advance(self, work: float) -> None:
        """Count a job of this weight as finished."""
        self._done += work
        pace = (self._done - self._before) / max(time.monotonic() - self._begun, 1e-9)
        self._tell((self._work - self._done) / pace)

    def _tell(self, seconds_left: float | None) -> None:
        self._display.update(JobsSnapshot(self._title, self._work, self._done, seconds_left))


class _JobWorkers(Protocol):
    """The workers that a session needs: futures for jobs, and an end."""

    def submit_all(
        self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]
    ) -> list[Any]: ...

    def stop(self) -> None: ...


class _Processes:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self._pool = ProcessPool(count)

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        return [self._pool.submit(function, *job) for job in jobs]

    def stop(self) -> None:
        self._pool.stop()


class _Here:
    """This process, one job after the other: functions of a notebook need not travel."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        return [self._pool.submit(function, *job) for job in jobs]

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Cluster:
    """A Dask cluster; it gives the jobs of a dead worker to another by itself.

    Functions and jobs travel as bytes: the scheduler need not be able to import them.
    """

    def __init__(self, address: str) -> None:
        self._client = dask_client(address)
        self._futures: list[Any] = []

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        import cloudpickle

        executor, packed = self._client.get_executor(pure=False), cloudpickle.dumps(function)
        self._futures = [executor.submit(_unpacked, packed, cloudpickle.dumps(job)) for job in jobs]
        return self._futures

    def stop(self) -> None:
        for future in self._futures:
            future.cancel()
        self._client.close()


def _unpacked(function: bytes, job: bytes) -> Any:
    """Do a job where it arrived."""
    import cloudpickle

    return cloudpickle.loads(function)(*cloudpickle.loads(job))


class Stopped(RuntimeError):
    """The experiment ended before its time; the message says why, and that it can go on."""


class Interrupted(Stopped):
    """A stop by Ctrl-C."""


@dataclass(frozen=True)
class Job:
    """A piece of work that does not depend on any other.

    Attributes:
        key: its name within the experiment; must tell it apart under all options.
        arguments: of the experiment's function; picklable.
        weight: how much work it is compared with the others, for the remaining time; the heaviest
            begin first.
    """

    key: str
    arguments: tuple[Any, ...]
    weight: float = 1.0


@dataclass
class Session:
    """The way an experiment is run, and the folder that keeps finished jobs until all are.

    Attributes:
        runs: how often each instance is run.
        seed: of all randomness.
        out: the folder for tables and figures.
        command: as the user typed it, for the sidecar.
        processes: how many to use on this machine; None: one per core; 0: this process alone, as
            in a notebook whose functions and classes other processes cannot import.
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
    _journals: list[_Journal] = field(default_factory=list, init=False)
    _workers: _JobWorkers | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name, least in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(
                    f"{name}={value} is not possible: give a whole number of at least {least}"
                )
        self.folder = _Folder(self.out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Forget finished jobs after success; keep them otherwise."""
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
            experiment: its name, for people and for the journal.
            function: must stand in a module, where workers can find it; its results must survive
                JSON, in which dataclasses become dictionaries.
            identity: all that decides the results, besides the seed and the code. Leave out the
                number of runs if a session of more runs can use the jobs of one with fewer.
        """
        journal = _Journal(self.out, experiment, {"seed": self.seed} | (identity or {}))
        self._journals.append(journal)
        left = sorted(
            (job for job in jobs if job.key not in journal.results), key=lambda job: -job.weight
        )
        if left:
            self._work(journal, function, left, sum(job.weight for job in jobs))
        return [journal.results[job.key] for job in jobs]

    def _work(
        self, journal: _Journal, function: Callable[..., Any], left: list[Job], total: float
    ) -> None:
        done = total - sum(job.weight for job in left)
        try:
            with (
                Meter(self.progress, journal.experiment, total, done) as meter,
                farewell(lambda: _interrupted(journal, left)),
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

    def _started_workers(self) -> _JobWorkers:
        if self._workers is None and self.dask:
            self._workers = _Cluster(self.dask)
        elif self._workers is None and self.processes == 0:
            self._workers = _Here()
        elif self._workers is None:
            self._workers = _Processes(self.processes or cores())
        return self._workers


@contextlib.contextmanager
def opened(session: Session | None, runs: int, processes: int | None = None) -> Iterator[Session]:
    """Yield the session asked for, or a temporary one of this many runs, which keeps nothing."""
    if session is not None:
        with session:
            yield session
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(runs=runs, out=Path(folder), processes=processes) as passing,
    ):
        yield passing


def _interrupted(journal: _Journal, left: list[Job]) -> str:
    return f"interrupted. {_how_to_go_on(journal, left)}"


def _how_to_go_on(journal: _Journal, left: list[Job]) -> str:
    missing = sum(job.key not in journal.results for job in left)
    return (
        f"{len(journal.results)} jobs are finished and kept, {missing} are left: "
        f"the same command goes on with them"
    )
