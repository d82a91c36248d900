"""A study's answer from its file, without any planning.

With a kernel, conclusions are its own: commitments, rewards and limits go through the chain and
through it. The notes name the leader alone. Without one, and where the chain is broken, conclusions
are those that the writer noted, and no certificate.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from surefoot.algorithms import Algorithm, PhaseRecord, Result, StopReason, Tally, Verdict
from surefoot.algorithms.certified import in_one_unit
from surefoot.algorithms.verdict import Known
from surefoot.errors import InputError, StudyFileError
from surefoot.statistics import Outcome
from surefoot.study.file.chain import ChainBroken, digest
from surefoot.study.file.description import Description
from surefoot.study.file.proof import Proof
from surefoot.study.file.replay import Run
from surefoot.study.file.replicates import Replicates
from surefoot.study.file.storage import ReadStorage, StoredPhase
from surefoot.study.file.storage.records import Note


class Follower:
    """Follows a study as it grows: each call reads only the phases closed since the last.

    Attributes:
        proof: the kernel and the chain so far; None if the algorithm draws its own conclusions.
        broken: the fault of the proof, in one sentence; None if it is sound.
        pulls: of the closed phases.
    """

    proof: Proof | None
    broken: str | None

    def __init__(self, description: Description, storage: ReadStorage) -> None:
        self._description, self._storage = description, storage
        self._begin()

    def _begin(self) -> None:
        described, problem = self._description, self._description.problem
        self.proof, self.broken, self.pulls = None, None, 0
        self._tally = Tally.empty(problem, described.signed_settings)
        self._replicates = Replicates(problem.n_pairs, described.signed_settings.noise)
        self._history: list[PhaseRecord] = []
        self._seen: list[bytes] = []
        self._state: tuple[int, ...] | None = None
        if described.boundary is not None:
            try:
                self.proof = Proof(described)
            except InputError as error:
                self.broken = f"what was asked is not what was stored: {error!s:.200}"

    @property
    def _whole(self) -> Proof | None:
        """The proof, as long as the chain is whole."""
        return self.proof if self.broken is None else None

    def result(self) -> Result | None:
        """Return the answer after the last closed phase; None if the notes leave a part of it
        out.
        """
        notes = self._notes(since=max(len(self._history) - 1, 0))
        new = notes[1:] if self._history else notes
        if self.proof is None and not all(note.tells_all for note in new):
            return None
        phases = list(islice(self._storage.phases(len(self._history)), len(new)))
        if len(phases) != len(new) or not all(stored.usable for stored in phases):
            raise StudyFileError(
                f"{self._storage.path} is damaged: it notes more than was pulled; restore it from "
                "a copy"
            )
        for stored, note in zip(phases, new, strict=True):
            self._take(stored, note)
        return self._concluded(notes[-1] if notes else self._note_without_pulls())

    def refresh(self) -> None:
        """Begin anew if anything was changed in phases that were read."""
        state = self._storage.state_of_file()
        if state == self._state:
            return
        kept = islice(self._storage.phases(), len(self._seen))
        if [_digest_of(stored) for stored in kept] != self._seen:
            self._begin()
        self._state = state

    def _take(self, stored: StoredPhase, note: Note) -> None:
        """Take one more closed phase, with its writer's note."""
        outcome = self._description.outcome(stored)
        self._prove(stored, outcome)
        self._tally = self._tally.after(outcome)
        self._replicates.add(stored.pairs, stored.rewards, stored.others)
        self._history = [*self._history, self._record(outcome, note)]
        self._seen.append(_digest_of(stored))
        self.pulls += len(stored.pairs)

    def _prove(self, stored: StoredPhase, outcome: Outcome) -> None:
        if self._whole is None:
            return
        try:
            if stored.first_pull != self.pulls:
                raise ChainBroken(f"phase {stored.index}: its pulls were given other numbers")
            self._whole.take(self._description.sealed(stored, outcome))
        except InputError as error:
            self.broken = str(error)

    def _record(self, outcome: Outcome, note: Note) -> PhaseRecord:
        names, alive = self._description.problem.arm_names, set(note.candidates)
        survivors = np.array([name in alive for name in names])
        leader = names.index(note.leader or note.arm)
        evidence = None if note.evidence is None else np.array(note.evidence)
        boundary = note.boundary
        if self._whole is not None:
            walks = self._whole.kernel.walks
            begun = bool((walks.places >= 0).any())
            survivors = self._whole.kernel.survivors.copy()
            boundary, evidence = (
                in_one_unit(walks, walks.walk(eased=leader)) if begun else (None, None)
            )
        return PhaseRecord(
            phase=outcome.phase,
            counts=outcome.counts,
            total=self._tally.samples,
            leader=leader,
            survivors=survivors,
            evidence=evidence,
            boundary=boundary,
        )

    def _concluded(self, note: Note | None) -> Result:
        """Return the result from all that was read; without a note, nothing is concluded."""
        arm = self._description.problem.arm_names.index(note.arm) if note else 0
        reason = StopReason[note.reason] if note else StopReason.RUNNING
        if reason.certifies and self._description.boundary is not None:
            reason = self._whole.reason(arm) if self._whole else StopReason.NOT_VERIFIED
        verdict = (
            self._whole.verdict(arm, reason) if self._whole else self._noted(note, arm, reason)
        )
        skewness = note.skewness if note else None
        verdict = replace(verdict, history=list(self._history), skewness=skewness)
        result = self._description.measured(self._tally.result(verdict))
        refuses = self._description.on_identical == "refuse"
        refusal = self._replicates.refusal(certified=True) if refuses else None
        if result.certified and refusal is not None:
            return replace(result, certified=False, reason=refusal)
        return result

    def _noted(self, note: Note | None, arm: int, reason: StopReason) -> Verdict:
        """Return the conclusions that the writer noted."""
        everybody = np.ones(self._description.problem.n_arms, dtype=bool)
        return Verdict(
            algorithm=self._description.algorithm,
            arm=arm,
            reason=reason,
            survivors=self._history[-1].survivors if self._history else everybody,
            history=[],
            confidence_later=Known(note.attained_confidence) if note else None,
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


def _digest_of(stored: StoredPhase) -> bytes:
    """Return a digest of all that was read of a phase."""
    proof = (stored.commitment, stored.plan, stored.link, *(stored.ending or ()))
    rewards = stored.rewards.tobytes(), "\n".join(stored.others).encode(), stored.origins
    return digest("seen", stored.pairs.tobytes(), *rewards, *proof)


class Feeder:
    """Feeds the algorithm as a study grows: so answers without a kernel are checked.

    It begins anew if phases that were read have changed. Anyone with write access to the file can
    write a note, so a note alone is no certificate.
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
        """Return the algorithm after the last closed phase; raise an error if a phase does not
        fit."""
        state = self._storage.state_of_file()
        if state != self._state:
            self._refresh()
            self._state = state
        if self._run is None or self._broken is not None:
            raise self._broken or InputError("nothing was read")
        return self._run

    def confirmed(self, note: Note) -> Result | None:
        """Return the result that the rewards give, if it is the one that was noted."""
        try:
            result = self.run().result
        except InputError:
            return None
        return result if _same(Note.of(result), note) else None

    def _refresh(self) -> None:
        """Take the phases closed since the last look."""
        try:
            kept = islice(self._storage.phases(), len(self._seen))
            if self._broken is not None or [_digest_of(phase) for phase in kept] != self._seen:
                self._begin()
            run = self._run = self._run or Run(self._description, self._algorithm)
            for stored in self._storage.phases(since=len(self._seen)):
                run.feed([stored])
                if stored.ending is not None:
                    self._seen.append(_digest_of(stored))
            run.next_phase()  # finds out whether the run is over
        except InputError as error:
            self._broken = error


def _same(one: Note, other: Note) -> bool:
    """Return whether the claims of two notes agree; evidence may differ in its last digits between
    machines.
    """
    return all(
        getattr(one, key) == getattr(other, key)
        for key in ("samples", "arm", "certified", "reason", "sentence", "candidates")
    )
