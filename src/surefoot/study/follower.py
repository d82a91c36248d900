"""A study's answer from what its writer noted after each phase, without planning anything anew."""

from __future__ import annotations

from itertools import islice

import numpy as np

from surefoot.algorithms import PhaseRecord, Result, StopReason, Tally, Verdict
from surefoot.statistics import Outcome
from surefoot.study.description import Description
from surefoot.study.errors import StudyFileError
from surefoot.study.notes import Note
from surefoot.study.storage import ReadStorage


class Follower:
    """Follows a study as it grows: each call reads only the phases completed since the last.

    Leader, survivors and evidence are those that were noted. What follows from the rewards alone
    (estimates, intervals, tests of the model) is tallied from them.
    """

    def __init__(self, description: Description, storage: ReadStorage) -> None:
        self._description, self._storage = description, storage
        self._tally = Tally.empty(description.problem, description.signed_settings)
        self._history: list[PhaseRecord] = []

    def result(self) -> Result | None:
        """The answer after the last complete phase; None if the notes do not tell all of it."""
        notes = self._notes(since=max(len(self._history) - 1, 0))
        new = notes[1:] if self._history else notes
        if not all(note.tells_all for note in new):
            return None
        phases = list(islice(self._storage.phases(len(self._history)), len(new)))
        if len(phases) != len(new) or not all(stored.usable for stored in phases):
            raise StudyFileError(
                f"{self._storage.path} is damaged: it notes more than was pulled; restore it from "
                "a copy"
            )
        for stored, note in zip(phases, new, strict=True):
            self._take(self._description.outcome(stored), note)
        return self._tally.result(self._verdict(notes[-1] if notes else self._note_without_pulls()))

    def _take(self, outcome: Outcome, note: Note) -> None:
        """One more phase, with what its writer noted."""
        names, alive = self._description.problem.arm_names, set(note.candidates)
        self._tally = self._tally.after(outcome)
        record = PhaseRecord(
            phase=outcome.phase,
            counts=outcome.counts,
            total=self._tally.samples,
            leader=names.index(note.leader or note.arm),
            survivors=np.array([name in alive for name in names]),
            evidence=None if note.evidence is None else np.array(note.evidence),
            boundary=note.boundary,
        )
        self._history = [*self._history, record]

    def _verdict(self, note: Note | None) -> Verdict:
        """What was concluded last; nothing before the first note."""
        problem, history = self._description.problem, self._history
        return Verdict(
            algorithm=self._description.algorithm,
            arm=problem.arm_names.index(note.arm) if note else 0,
            reason=StopReason[note.reason] if note else StopReason.RUNNING,
            survivors=history[-1].survivors if history else np.ones(problem.n_arms, dtype=bool),
            history=list(history),
            attained_confidence=note.attained_confidence if note else None,
        )

    def _notes(self, since: int) -> list[Note]:
        return [self._read(text) for text in self._storage.notes(since)]

    def _note_without_pulls(self) -> Note | None:
        found = self._storage.last_note()
        return self._read(found) if found else None

    def _read(self, text: str) -> Note:
        note, names = Note.from_json(text), self._description.problem.arm_names
        unknown = {note.arm, note.leader or note.arm, *note.candidates} - set(names)
        if unknown or (note.evidence is not None and len(note.evidence) != len(names)):
            raise StudyFileError(
                f"{self._storage.path} is damaged: a note in it speaks of other arms than the "
                "study has; restore it from a copy"
            )
        return note
