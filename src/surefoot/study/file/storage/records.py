"""Objects that a study file holds: phases, what runs, counts, and the writer's notes.

Notes are made after each phase and of the study as a whole; they prove nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from surefoot.algorithms import Result, StopReason
from surefoot.arrays import Array, IntArray
from surefoot.errors import StudyFileError
from surefoot.statistics import Phase
from surefoot.study.input import LARGEST_REWARD


class Ending(NamedTuple):
    """The proof that is stored when a phase is closed.

    Attributes:
        rewards: the digest of its rewards.
        limits: by which its evidence was lowered, as canonical bytes.
        closing: the digest of the chain with it.
    """

    rewards: bytes
    limits: bytes
    closing: bytes


@dataclass(frozen=True, eq=False)
class StoredPhase:
    """A phase as stored, with the rewards of its pulls so far.

    Attributes:
        first_pull: the number of its first pull.
        pairs: (n_pulls,) the pair of each pull, in the order of their numbers.
        rewards: (n_pulls,) as measured; NaN where it is missing.
        others: (n_pulls,) further outputs of each pull, as canonical text; empty without any.
        costs: (n_pulls,) of each pull; NaN where unknown. None: costs were not asked for.
        batches: number of batches into which the pulls of each pair are put, in the order of their
            numbers; 0: no batches.
        shared: whether pulls of different pairs share random streams.
        overlaps: how many phases before it were in flight when it was chosen.
        commitment: its claims, as canonical bytes.
        plan, link: digests that were stored before its first reward.
        ending: stored when it was closed; None before.
        origins: which simulators gave its rewards, as canonical bytes; empty while it is open.
    """

    index: int
    first_pull: int
    pairs: IntArray
    rewards: Array
    others: list[str]
    batches: int = 0
    shared: bool = False
    overlaps: int = 0
    commitment: bytes = b""
    plan: bytes = b""
    link: bytes = b""
    ending: Ending | None = None
    costs: Array | None = None
    origins: bytes = b""

    def layout(self, n_pairs: int) -> Phase:
        """Return the phase as it was planned."""
        pairs = self.pairs
        if len(pairs) and not 0 <= pairs.min() <= pairs.max() < n_pairs:
            raise StudyFileError(
                f"the study file is damaged: phase {self.index} pulls pairs {pairs.min()} to "
                f"{pairs.max()} of {n_pairs}; restore it from a copy"
            )
        counts = np.bincount(self.pairs, minlength=n_pairs)
        return Phase(self.index, counts, self.batches, self.shared, self.overlaps)

    @property
    def complete(self) -> bool:
        return not np.isnan(self.rewards).any()

    @property
    def usable(self) -> bool:
        """True if every pull has a reward that can be computed with."""
        return bool((np.abs(self.rewards) < LARGEST_REWARD).all())


@dataclass(frozen=True)
class Running:
    """A pull that is being simulated.

    Attributes:
        pull: its number.
        since: when it began, in seconds since 1970.
        worker: who simulates it, if that is known.
    """

    pull: int
    since: float
    worker: str | None


@dataclass(frozen=True)
class PullCounts:
    """The number of pulls in each state.

    Attributes:
        phase: the index of the oldest phase that is not closed, or of the last one; 0 before the
            first.
        phase_pulls, phase_told: its pulls, and those of them with a reward.
        open_pulls, open_told: pulls of all phases that are not closed, and those with a reward.
        told, asked, failed: pulls with a reward; handed out to people; given up.
        retried: pulls that failed, and were or will be tried again.
        lost: pulls that ever lost their worker.
        spent: the cost of pulls with a reward, as far as known.
    """

    phase: int
    phase_pulls: int
    phase_told: int
    open_pulls: int
    open_told: int
    told: int
    asked: int
    failed: int
    retried: int
    lost: int
    spent: float


MOST_EVIDENCE = 5_000  # arms: more is not worth keeping after every phase


class Note(BaseModel):
    """The knowledge after a phase.

    Attributes:
        samples: pulls so far.
        arm, certified, reason, sentence, candidates: of the result at that moment.
        leader, survivors: the arm ahead, and how many arms were not eliminated.
        evidence, boundary: the statistic of each arm and its boundary.
        expected_left: a forecast of the pulls to come; None if it was too early to say. It is not
            in the note of a quiet run.
        attained_confidence: the confidence attained by the rewards; None if unknown.
        skewness: of the differences that decide, where they are taken for normal.
        unseen: the rarity of events that were seen, and the cost that an unseen one would need.
    """

    model_config = ConfigDict(frozen=True)

    samples: int
    arm: str
    certified: StrictBool
    reason: str
    sentence: str
    candidates: list[str]
    leader: str | None
    survivors: int
    boundary: float | None = None
    evidence: list[float] | None = None
    expected_left: float | None = None
    attained_confidence: float | None = None
    skewness: float | None = None
    unseen: dict[str, float | None] | None = None

    @classmethod
    def of(cls, result: Result) -> Self:
        """Return the note of a result."""
        last = result.history[-1] if result.history else None
        return cls(
            samples=result.samples,
            arm=result.arm_name,
            certified=result.certified,
            reason=result.reason.name,
            sentence=result.sentence,
            candidates=[result.problem.arm_names[a] for a in result.candidates],
            leader=result.problem.arm_names[last.leader] if last else None,
            survivors=int(last.survivors.sum()) if last else result.problem.n_arms,
            boundary=last.boundary if last else None,
            evidence=_worth_keeping(last.evidence) if last else None,
            attained_confidence=result.attained_confidence,
            skewness=result.skewness,
            unseen=None if result.unseen is None else asdict(result.unseen),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a note from a study file."""
        try:
            note = cls.model_validate(json.loads(text))
            StopReason[note.reason]
        except (ValidationError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StudyFileError(
                f"the study file is damaged: a note in it cannot be read ({_told(error)}); "
                "restore it from a copy"
            ) from None
        return note

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values that JSON knows: ±∞ as text."""
        values = self.model_dump(exclude_unset=True)
        if self.evidence is not None:
            values["evidence"] = [v if isfinite(v) else str(v) for v in self.evidence]
        return values

    def with_forecast(self, expected_left: float | None) -> Self:
        return self.model_copy(update={"expected_left": expected_left})

    @property
    def quiet(self) -> bool:
        """True if no forecast was made, since no display was on."""
        return "expected_left" not in self.model_fields_set

    @property
    def guess(self) -> str:
        """The answer so far, put anew: a stored sentence could claim anything."""
        left = "1 arm is" if len(self.candidates) == 1 else f"{len(self.candidates)} arms are"
        return (
            f"{self.arm} is the best guess after {self.samples} pulls, not certified; {left} still "
            "possible."
        )

    @property
    def tells_all(self) -> bool:
        """True unless evidence was left out, as for very many arms."""
        return self.boundary is None or self.evidence is not None


def _worth_keeping(evidence: Array | None) -> list[float] | None:
    return None if evidence is None or len(evidence) > MOST_EVIDENCE else evidence.tolist()


def _told(error: Exception) -> str:
    """Return the mistake in one line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{error!s:.200}"


State = Literal["running", "paused", "finished"]


class Standing(BaseModel):
    """The state of the study as a whole, as its file tells it.

    Attributes:
        created: when, in seconds since 1970.
        configuration: the name and the text of the file given to `surefoot run`.
        state: "running", "paused" or "finished".
        message: why it is paused or finished.
    """

    model_config = ConfigDict(frozen=True)

    created: float
    configuration: dict[str, Any] | None
    state: State
    message: str | None

    @classmethod
    def from_entries(cls, entries: dict[str, Any]) -> Self:
        """Read it from the table `study`."""
        try:
            return cls.model_validate(entries)
        except ValidationError as error:
            raise StudyFileError(
                f"the study file is damaged: how it stands cannot be read ({_told(error)}); "
                "restore it from a copy"
            ) from None

    @property
    def file(self) -> str | None:
        """The configuration file that it was made from."""
        found = (self.configuration or {}).get("file")
        return found if isinstance(found, str) else None

    @property
    def how_to_go_on(self) -> str:
        """The command with which a user goes on with the study."""
        if self.file:
            return f"`surefoot run {self.file}`"
        call = (self.configuration or {}).get("call")
        return call if isinstance(call, str) else "study.run(simulator)"
