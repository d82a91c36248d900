from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import InputError
from surefoot.experiments import session as sessions
from surefoot.experiments.session import FOLDER, Job, Session, Stopped
from surefoot.system.progress import JobsSnapshot
from tests.experiments.session import toy_jobs
from tests.study.cluster import Cluster
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _code_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving a source file while the tests run must not look like another program."""
    monkeypatch.setattr(sessions, "code_digest", lambda: "the same")


def jobs(count: int, *arguments: Any) -> list[Job]:
    return [
        Job(f"job {number}", (number, *arguments), weight=1 + number % 3) for number in range(count)
    ]


def numbers(results: list[dict[str, float]]) -> list[tuple[float, float]]:
    return [(result["square"], result["third"]) for result in results]


EXPECTED = [(number**2, number / 3) for number in range(6)]


class Watching:
    """Progress that remembers."""

    def __init__(self) -> None:
        self.seen: list[JobsSnapshot] = []
        self.closed = 0

    def update(self, snapshot: JobsSnapshot) -> None:
        self.seen.append(snapshot)

    def close(self) -> None:
        self.closed += 1


def test_results_come_in_the_order_of_the_jobs_and_nothing_is_left_behind(tmp_path: Path) -> None:
    progress = Watching()
    with Session(out=tmp_path, processes=2, progress=progress) as session:
        results = session.map("toy", toy_jobs.square, jobs(6))
        assert session.map("threads", toy_jobs.threads, jobs(2)) == [["1", "1"]] * 2
    assert numbers(results) == EXPECTED
    assert os.getpid() not in {result["process"] for result in results}
    first, last = progress.seen[0], progress.seen[6]
    assert (first.title, first.work, first.done) == ("toy", 12.0, 0.0)
    assert (last.title, last.done, last.seconds_left) == ("toy", 12.0, 0.0)
    assert (progress.seen[-1].done, progress.closed) == (3.0, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_dead_worker_is_told_and_the_same_session_goes_on(tmp_path: Path) -> None:
    out, notes = tmp_path / "out", tmp_path / "notes"
    notes.mkdir()
    (notes / "deadly").touch()
    work = [Job(job.key, job.arguments, weight=5 - job.arguments[0]) for job in jobs(6, str(notes))]
    with (
        pytest.raises(
            Stopped, match=r"a worker died.* 3 jobs are .*kept, 3 are left: the same command"
        ),
        Session(out=out, processes=1) as session,
    ):
        session.map("toy", toy_jobs.square_unless_gone, work)
    assert [path.name for path in out.iterdir()] == [FOLDER]
    (notes / "deadly").unlink()
    progress = Watching()
    with Session(out=out, processes=1, progress=progress) as session:
        assert numbers(session.map("toy", toy_jobs.square_unless_gone, work)) == EXPECTED
    assert (progress.seen[0].work, progress.seen[0].done) == (15.0, 12.0)
    # each once
    assert sorted(path.name.split("-")[0] for path in notes.iterdir()) == list("012345")
    assert list(out.iterdir()) == []


def test_an_error_in_a_job_is_the_error_of_the_session(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError, match="job"),
        Session(out=tmp_path, processes=1) as session,
    ):
        session.map("toy", toy_jobs.failing, jobs(2))


@pytest.mark.parametrize(
    ("begin", "prefix", "code"),
    [
        pytest.param("pass", "", 1, id="in a program of one's own"),
        pytest.param("interrupts.end_this_process()", "surefoot: ", 130, id="in the command"),
    ],
)
def test_an_interrupt_keeps_what_is_finished(
    begin: str, prefix: str, code: int, tmp_path: Path
) -> None:
    """A real Ctrl-C: the signal goes to the whole group, workers included."""
    out, notes = tmp_path / "out", tmp_path / "notes"
    notes.mkdir()
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from surefoot.system import interrupts\n"
        "from surefoot.experiments import session\n"
        "from surefoot.experiments.session import Interrupted, Session\n"
        "from tests.experiments.session import toy_jobs\n"
        "from tests.experiments.session.test_runner import jobs\n"
        "session.code_digest = lambda: 'the same'\n"
        "if __name__ == '__main__':\n"
        f"    {begin}\n"
        "    try:\n"
        f"        with Session(out=Path({str(out)!r}), processes=2) as session:\n"
        f"            session.map('toy', toy_jobs.held_square, jobs(20, {str(notes)!r}))\n"
        "    except Interrupted as stop:\n"
        "        sys.exit(str(stop))\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )
    wait_for(lambda: toy_jobs.finished(out) >= 4 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    sentence = r"interrupted\. (\d+) jobs are finished and kept, \d+ are left: the same command.*\n"
    said = re.fullmatch(prefix + sentence, words)
    assert said, words
    kept = int(said[1])
    assert 4 <= kept < 20
    before = len(list(notes.iterdir()))
    notes.with_name("go").touch()
    with Session(out=out, processes=2) as session:
        results = session.map("toy", toy_jobs.held_square, jobs(20, str(notes)))
    assert [result["square"] for result in results] == [number**2 for number in range(20)]
    assert len(list(notes.iterdir())) - before == 20 - kept


def test_a_dask_cluster_gives_the_same(tmp_path: Path) -> None:
    with (
        Cluster(tmp_path, workers=1) as cluster,
        Session(out=tmp_path / "out", dask=cluster.address) as session,
    ):
        results = session.map("toy", toy_jobs.square, jobs(6))
        assert {result["process"] for result in results} == {cluster.workers[0].pid}
    assert numbers(results) == EXPECTED


def test_no_cluster_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    def refused(*_: object, **__: object) -> None:
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refused)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        Session(out=tmp_path, dask="tcp://127.0.0.1:9") as session,
    ):
        session.map("toy", toy_jobs.square, jobs(1))


@pytest.mark.parametrize(("option", "value"), [("runs", 0), ("runs", -3), ("seed", -1)])
def test_impossible_numbers_are_refused_before_anything_is_made(
    option: str, value: int, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"{option}={value}"):
        Session(**{option: value}, out=tmp_path / "out")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
