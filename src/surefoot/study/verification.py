"""Whether an answer that stands in a study file follows from the rewards in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from surefoot.algorithms import Algorithm, Result
from surefoot.errors import InputError
from surefoot.study.description import Description
from surefoot.study.notes import Note
from surefoot.study.replay import Run
from surefoot.study.storage import ReadStorage, StoredPhase


class Verification:
    """Replays a study to confirm a note, once for each state of its rewards.

    Whoever can write to the file can write a note into it, so a note alone is no certificate.
    """

    def __init__(
        self, description: Description, storage: ReadStorage, algorithm: Algorithm | None
    ) -> None:
        self._description, self._storage, self._algorithm = description, storage, algorithm
        self._seen: tuple[int, ...] | None = None
        self._digest = b""
        self._result: Result | None = None

    def confirmed(self, note: Note) -> Result | None:
        """The result that the rewards give, if it is the one that was noted."""
        result = self._replayed()
        return result if result is not None and _same(Note.of(result), note) else None

    def _replayed(self) -> Result | None:
        """The result of the rewards that are there now; None if they give none."""
        state = self._storage.state_of_file()
        if state != self._seen:
            digest = self._digest_of_rewards()
            if digest != self._digest:
                self._result, self._digest = self._replay(), digest
            self._seen = state
        return self._result

    def _replay(self) -> Result | None:
        try:
            run = Run(self._description, self._algorithm)
            run.feed(self._storage.phases())
            run.next_phase()  # finds out whether the run is over
        except InputError:
            return None
        return run.result

    def _digest_of_rewards(self) -> bytes:
        digest = hashlib.sha256()
        for piece in _pieces(self._storage.phases()):
            digest.update(piece)
        return digest.digest()


def _pieces(phases: Iterator[StoredPhase]) -> Iterator[bytes]:
    for phase in phases:
        yield phase.index.to_bytes(8, "big", signed=True)
        yield len(phase.pairs).to_bytes(8, "big")
        yield phase.pairs.tobytes()
        yield phase.rewards.tobytes()
        yield phase.commitment
        yield phase.plan + phase.link
        yield b"".join(phase.ending or ())


def _same(one: Note, other: Note) -> bool:
    """Whether two notes claim the same; evidence may differ in its last digits between machines."""
    return all(
        getattr(one, key) == getattr(other, key)
        for key in ("samples", "arm", "certified", "reason", "sentence", "candidates")
    )
