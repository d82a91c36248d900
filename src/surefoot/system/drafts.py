"""Files that are there whole or not at all: written beside their place, then put into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import InputError

SQLITE = b"SQLite format 3\0"


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a draft to write to; at the end it becomes a new file, never in the place of another.

    Raises:
        FileExistsError: a file was there, or came to be meanwhile.
    """
    with _draft(path) as draft:
        yield draft
        os.link(draft, path)  # unlike a rename, this refuses to replace a file


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Give a draft to write to; at the end it takes the place of the file, if there is one.

    A study is never replaced: days of simulation would be gone by a slip of the fingers.
    """
    if _is_database(path):
        raise InputError(f"{path} is a study or another database: write to another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _draft(path) as draft:
            yield draft
            draft.replace(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}): choose another place"
        ) from error


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _is_database(path: Path) -> bool:
    """Return whether it is a file of SQLite, by how it begins."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all: beside its place first, then moved there."""
    with replaced_file(path) as draft:
        draft.write_bytes(content)
    return path
