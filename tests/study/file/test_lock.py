"""One writer at a time; the lock dies with its process, and not with the process's children."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.study import StudyFileError, StudyLocked
from surefoot.study.file.storage import connection
from surefoot.study.file.storage.connection import WriterLock, writer_of
from tests.study.toys import linear, open_toy, read_toy, toy_study


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(connection, "LOCK_PATIENCE", 0.1)
    return tmp_path / "toy.db"


def test_a_second_writer_is_refused_and_told_who_writes(path: Path) -> None:
    with (
        toy_study(path),
        pytest.raises(StudyLocked, match=f"process {os.getpid()} on .*that is this process; close"),
    ):
        open_toy(path)
    open_toy(path).close()


def test_a_study_that_nobody_holds_any_more_is_not_locked(path: Path) -> None:
    study = toy_study(path)
    study.tell(0, 1.0)
    del study
    with open_toy(path) as study:
        assert study.told == 1


def test_readers_read_while_a_writer_writes(path: Path) -> None:
    with toy_study(path) as study, read_toy(path) as reader:
        for told, pull in enumerate(study.ask(20)):
            assert reader.status().told == told
            study.tell(pull.id, linear(pull))
        status = reader.status()
        assert status.writer is not None
        assert f"process {os.getpid()}" in status.writer
    assert writer_of(path) is None


HOLDER = """
import os, sys, time
from pathlib import Path
from surefoot.study.file.storage.connection import WriterLock
held = WriterLock(Path(sys.argv[1]))
log = Path(sys.argv[1] + "-wal")
log.touch()
held.take_log(log)
child = os.fork()
if child == 0:
    time.sleep(3600)
print(child, flush=True)
time.sleep(3600)
"""


def test_a_killed_writer_leaves_no_lock_though_its_child_lives(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(StudyLocked, match=f"process {process.pid}"):
            WriterLock(path)
        process.kill()
        process.wait()
        os.kill(child, 0)  # it is still there
        WriterLock(path).release()
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def _try(path: Path, answers: multiprocessing.SimpleQueue[str]) -> None:
    try:
        WriterLock(path).release()
        answers.put("free")
    except StudyLocked:
        answers.put("locked")


def test_a_forked_child_does_not_share_the_lock(path: Path) -> None:
    held = WriterLock(path)
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=_try, args=(path, answers))
    child.start()
    assert answers.get() == "locked"
    child.join()
    with pytest.raises(StudyLocked):
        WriterLock(path)
    held.release()


def test_a_removed_lock_file_does_not_let_a_second_writer_in(path: Path) -> None:
    with toy_study(path) as study:
        path.with_name("toy.db.lock").unlink()
        with pytest.raises(StudyLocked, match="is being written by another process"):
            open_toy(path)
        assert writer_of(path) is not None
        study.tell(0, 1.0)
    open_toy(path).close()


def test_a_symbolic_link_does_not_let_a_second_writer_in(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "link.db"
    other.parent.mkdir()
    other.symlink_to(path)
    with toy_study(path):
        assert writer_of(other) is not None
        with pytest.raises(StudyLocked, match=f"process {os.getpid()}"):
            open_toy(other)
    with open_toy(other), pytest.raises(StudyLocked):
        open_toy(path)


def test_a_file_system_without_locks_is_for_reading_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_study(path).close()

    def unsupported(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.raises(StudyFileError, match="a file system without locks"):
        open_toy(path)
    with read_toy(path) as reader:
        assert reader.status().writer is None


def test_a_hard_link_is_refused(path: Path, tmp_path: Path) -> None:
    toy_study(path).close()
    (tmp_path / "second.db").hardlink_to(path)
    with pytest.raises(StudyFileError, match="hard link"):
        open_toy(path)


def test_where_there_are_no_posix_locks_the_import_says_so() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import surefoot as sf; sf.identify; sf.Study"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("ImportError: studies need a POSIX system")
