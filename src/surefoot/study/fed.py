"""The algorithm of a study, fed with what is stored: how answers without a kernel are checked."""

from __future__ import annotations

from itertools import islice

from surefoot.algorithms import Algorithm, Result
from surefoot.errors import InputError
from surefoot.study.file.description import Description
from surefoot.study.file.follower import digest_of
from surefoot.study.file.notes import Note
from surefoot.study.file.storage import ReadStorage
from surefoot.study.run.run import Run


class Fed:
    """Feeds the algorithm as a study grows, anew if anything was changed in phases that were read.

    Whoever can write to the file can write a note into it, so a note alone is no certificate.
    """

    def __init__(
        self, description: Description, storage: ReadStorage, algorithm: Algorithm | None
    ) -> None:
        self._description, self._storage, self._algorithm = description, storage, algorithm
        self._state: tuple[int, ...] | None = None
        self._begin()

    def _begin(self) -> None:
        self._run: Run | None = None
        self._seen: list[bytes] = []
        self._broken: InputError | None = None

    def run(self) -> Run:
        """The algorithm after the last closed phase; an error says what does not fit."""
        state = self._storage.state_of_file()
        if state != self._state:
            self._refresh()
            self._state = state
        if self._run is None or self._broken is not None:
            raise self._broken or InputError("nothing was read")
        return self._run

    def confirmed(self, note: Note) -> Result | None:
        """The result that the rewards give, if it is the one that was noted."""
        try:
            result = self.run().result
        except InputError:
            return None
        return result if _same(Note.of(result), note) else None

    def _refresh(self) -> None:
        """Take what came since the last look."""
        try:
            kept = islice(self._storage.phases(), len(self._seen))
            if self._broken is not None or [digest_of(phase) for phase in kept] != self._seen:
                self._begin()
            run = self._run = self._run or Run(self._description, self._algorithm)
            for stored in self._storage.phases(since=len(self._seen)):
                run.feed([stored])
                if stored.ending is not None:
                    self._seen.append(digest_of(stored))
            run.next_phase()  # finds out whether the run is over
        except InputError as error:
            self._broken = error


def _same(one: Note, other: Note) -> bool:
    """Whether two notes claim the same; evidence may differ in its last digits between machines."""
    return all(
        getattr(one, key) == getattr(other, key)
        for key in ("samples", "arm", "certified", "reason", "sentence", "candidates")
    )
