"""Where a study file lies, and what is done when it lies there no more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from surefoot.study.file.lock import wal_of
from surefoot.study.file.storage import connection
from surefoot.system.drafts import new_file


class Place:
    """The study file and its log as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identities = {file: _identity(file) for file in (path, wal_of(path))}

    @property
    def kept(self) -> bool:
        """Whether the same files are still there."""
        return all(_identity(file) == known for file, known in self._identities.items())

    def rescue(self, source: connection.Connection) -> Path:
        """Copy what an open connection still holds to a new file, beside the study if possible.

        The log that stayed behind is removed: SQLite would take it for that of the next file of
        this name.
        """
        failure: OSError | None = None
        for folder in (self._path.parent, Path.cwd(), Path(tempfile.gettempdir())):
            try:
                rescued = self._copy(source, folder)
            except OSError as error:
                failure = error
                continue
            self._remove_log()
            return rescued
        assert failure is not None
        raise failure

    def _copy(self, source: connection.Connection, folder: Path) -> Path:
        for path in self._names(folder):
            try:
                with new_file(path) as draft:
                    connection.copy(source, draft)
            except FileExistsError:
                continue
            return path
        raise AssertionError("there is no end of names")

    def _remove_log(self) -> None:
        wal = wal_of(self._path)
        if _identity(wal) == self._identities[wal]:
            wal.unlink(missing_ok=True)

    def _names(self, folder: Path) -> Iterator[Path]:
        for number in count(1):
            mark = "rescued" if number == 1 else f"rescued-{number}"
            yield folder / f"{self._path.stem}.{mark}{self._path.suffix}"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
