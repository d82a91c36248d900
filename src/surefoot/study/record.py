"""A study's answer from what its writer noted after each phase, without planning anything anew."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from surefoot.algorithms import Algorithm, Result, StopReason
from surefoot.statistics import Counts, Outcome
from surefoot.study.description import Description
from surefoot.study.notes import Note
from surefoot.study.storage import ReadStorage


class Record:
    """Follows a study as it grows: each call reads only the phases that were completed since the
    last one.
    """

    def __init__(self, description: Description, storage: ReadStorage) -> None:
        self._description, self._storage = description, storage
        self._run: _Recorded | None = None

    def result(self) -> Result | None:
        """The answer after the last complete phase; None if the notes do not tell all of it."""
        run = self._run = self._run or _Recorded().follow(self._description)
        notes = self._notes(since=max(len(run.history) - 1, 0))
        new = notes[1:] if run.history else notes
        if not all(note.tells_all for note in new):
            return None
        for stored, note in zip(
            islice(self._storage.phases(len(run.history)), len(new)), new, strict=True
        ):
            run.take(self._description.outcome(stored), note)
        final = notes[-1] if notes else self._note_without_pulls()
        return run.conclude(final) if final else run.result

    def _notes(self, since: int) -> list[Note]:
        return [Note.from_json(text) for text in self._storage.notes(since)]

    def _note_without_pulls(self) -> Note | None:
        found = self._storage.last_note()
        return Note.from_json(found) if found else None


@dataclass(eq=False)
class _Recorded(Algorithm):
    """Not an algorithm but the memory of one: leader, survivors and evidence are those that were
    noted.

    What follows from the rewards alone (estimates, intervals, tests of the model) is worked out as
    for any other.
    """

    name: ClassVar[str] = "recorded"
    needs_scale: ClassVar[bool] = False
    supports_tolerance: ClassVar[bool] = True

    def follow(self, description: Description) -> _Recorded:
        run = self.start(description.problem, description.settings)
        run.name = description.algorithm  # type: ignore[misc]
        return run

    def begin(self) -> None:
        self.note: Note
        self.next_counts = np.zeros(self.problem.n_pairs, dtype=np.int64)

    def plan(self) -> Counts | StopReason:
        return self.next_counts

    def learn(self, outcome: Outcome) -> None:
        names = self.problem.arm_names
        evidence, alive = self.note.evidence, set(self.note.candidates)
        self.leader = names.index(self.note.leader or self.note.arm)
        self.survivors = np.array([name in alive for name in names])
        self.evidence = None if evidence is None else np.array(evidence)
        self.boundary = self.note.boundary

    def take(self, outcome: Outcome, note: Note) -> None:
        """One more phase, with what its writer noted."""
        self.note, self.next_counts = note, outcome.counts
        self.next_phase()
        self.update(outcome)

    def conclude(self, note: Note) -> Result:
        """The result with the arm and the reason as last noted."""
        reason = StopReason[note.reason]
        self._stop = None if reason is StopReason.RUNNING else reason
        self.leader = self.problem.arm_names.index(note.arm)
        return self.result
