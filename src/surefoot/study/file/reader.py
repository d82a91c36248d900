"""StudyReader: look at a study, also while it runs, without holding its writer up."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from surefoot.algorithms import Algorithm, Result, Settings, StopReason
from surefoot.errors import StudyFileError
from surefoot.problem.problem import RobustProblem
from surefoot.study.file.chain import Chain, ChainBroken, Sealed, follow_plan, order_of
from surefoot.study.file.description import Description
from surefoot.study.file.follower import Feeder, Follower
from surefoot.study.file.frame import pull_frame
from surefoot.study.file.storage import ReadStorage, Running
from surefoot.study.file.storage.connection import writer_of
from surefoot.study.file.storage.reading import (
    CORRECTION_COLUMNS,
    FAILURE_COLUMNS,
    LOG_COLUMNS,
    PHASE_COLUMNS,
    PULL_COLUMNS,
)
from surefoot.study.file.storage.records import Note, Standing, State
from surefoot.study.forecast import NEAR_TIE, Durations, is_near_tie, left_now
from surefoot.study.input import from_text
from surefoot.study.provenance import Simulators, remarks

if TYPE_CHECKING:
    import pandas as pd

MOST_DURATIONS = 100_000  # pulls

Doing = Literal[State, "interrupted", "waiting"]


@dataclass(frozen=True)
class Status:
    """A study at one moment, as its file tells it.

    Attributes:
        state: "running", "paused" or "finished"; a study whose driver was killed is still
            "running", without a writer.
        message: why it is paused or finished.
        writer: the process that has it open for writing, if any.
        told, asked, failed, retried, lost: pulls with a reward; handed out by `surefoot ask`; given
            up; that failed, and were or will be tried again; that lost a worker ever.
        called_off, unused: pulls in flight when the study was over, and those of them that had been
            simulated; the answer rests on none of them.
        phase, phase_pulls, phase_told: the phase being pulled, the oldest of those in flight.
        survivors, leader, candidates, certified, sentence: after the last complete phase.
        reason: why it is over, and what to do; None while it runs.
        changes: of the simulator, and the arms whose pulls failed, a sentence for each.
        beside: notes on the answer, once it is known: see `Result.beside`.
        expected_left: pulls still needed if the estimates are right; None: it is too early to say,
            or the run is quiet.
        quiet: whether no forecast was made after the last phase, since no display was on.
        near_tie: a hint if they are so many that a tolerance would save most of them.
        pulls_per_minute: over the last 200 rewards, of the writer if there is one.
        last_reward: when it came, in seconds since 1970.
        cost, spent: which cost is to be small, and the cost of pulls with a reward so far; None if
            it is their number.
        running: pulls being simulated, since when and by whom; the earliest first.
    """

    state: State
    message: str | None
    writer: str | None
    told: int
    called_off: int
    unused: int
    asked: int
    failed: int
    retried: int
    lost: int
    phase: int
    phase_pulls: int
    phase_told: int
    survivors: int
    leader: str | None
    candidates: list[str]
    certified: bool
    sentence: str | None
    reason: str | None
    changes: list[str]
    beside: list[str]
    expected_left: float | None
    quiet: bool
    near_tie: str | None
    pulls_per_minute: float | None
    last_reward: float | None
    cost: str | None
    spent: float | None
    running: list[Running]

    @property
    def doing(self) -> Doing:
        """The state, but for a study without a running process: "interrupted", or "waiting" where
        its first reward is missing, or rewards that were asked for by hand.
        """
        if self.state != "running" or self.writer:
            return self.state
        return "waiting" if self.asked or not self.told else "interrupted"


class StudyReader:
    """A study opened for reading.

    Rewards and results are in the unit in which pulls are measured.
    """

    def __init__(self, path: str | os.PathLike[str], *, algorithm: Algorithm | None = None) -> None:
        self._storage = ReadStorage(path)
        entries = self._storage.entries()
        self.description = Description.from_entries(entries)
        standing = Standing.from_entries(entries)
        self.created, self.configuration = standing.created, standing.configuration
        self.how_to_go_on = standing.how_to_go_on
        self._feeder = Feeder(self.description, self._storage, algorithm)

    @cached_property
    def _follower(self) -> Follower:
        """The kernel's conclusions. The check of its boundary may take half a second."""
        return Follower(self.description, self._storage)

    @property
    def path(self) -> Path:
        return self._storage.path

    @property
    def id(self) -> str:
        return self.description.id

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def problem(self) -> RobustProblem:
        return self.description.problem

    @property
    def settings(self) -> Settings:
        return self.description.settings

    @property
    def result(self) -> Result:
        """The answer after the last closed phase, by feeding the phases since the last look."""
        if self.description.boundary is not None:
            return self.recorded
        return self._judged(self._feeder.run().result)

    def _judged(self, result: Result) -> Result:
        """Return a result without its certificate where it rests on rewards of two simulators, or
        on pulls that were tried until they did not fail.
        """
        judged = self._storage.tries().judge(self.simulators.judge(result))
        if judged.certified and not self._storage.is_signed:
            return replace(judged, certified=False, reason=StopReason.NOT_VERIFIED)
        return judged

    @property
    def remarks(self) -> list[str]:
        """A sentence for each change of the simulator, and for each kind of pull that failed."""
        return remarks(self.simulators, self._storage.tries(), self.problem)

    @property
    def simulators(self) -> Simulators:
        """The simulators that gave the rewards, all with which the study was run."""
        return self._storage.simulators()

    @property
    def recorded(self) -> Result:
        """The answer by the kernel, from stored commitments and rewards.

        For algorithms without a kernel it is the answer that the writer noted after each phase
        (`result`, where notes of many arms leave a part out); at the end the algorithm is fed, and
        has to agree.
        """
        note = self._last_note()
        over = note is not None and note.reason != StopReason.RUNNING.name
        if self.description.boundary is not None or note is None or not over:
            if over:
                self._follower.refresh()
            found = self._follower.result()
            return self.result if found is None else self._judged(found)
        return self._judged(self._feeder.confirmed(note) or self._unconfirmed(note))

    @property
    def over(self) -> bool:
        """True if the study has its answer, or ended without one."""
        note = self._last_note()
        return note is not None and note.reason != StopReason.RUNNING.name

    def check(self) -> Chain:
        """Check that the file is unchanged; raise an error of one sentence that names the change.

        Returns:
            The chain of digests over all closed phases.
        """
        self._storage.check_pages()
        self._storage.check_simulators()
        if self._storage.entries("head").get("head") != self.description.head.hex():
            raise ChainBroken("the question was changed after the study was made")
        before = None
        while True:
            has_kernel = self.description.boundary is not None
            chain = self._checked_by_kernel() if has_kernel else self._feeder.run().chain
            stored = self._storage.entries("fingerprint").get("fingerprint")
            if stored == chain.fingerprint(self.simulators):
                return chain
            # a running study may have closed a phase meanwhile; NaN equals nothing
            if not isinstance(stored, str) or stored == before:
                raise ChainBroken(
                    f"{chain.phases} phases are there, but the fingerprint is of others, or of "
                    "other simulators: the last phases were dropped or replaced, or what was said "
                    "of a simulator was changed"
                )
            before = stored

    def _checked_by_kernel(self) -> Chain:
        follower = self._follower
        follower.refresh()
        follower.result()
        if follower.proof is None or follower.broken is not None:
            raise ChainBroken(follower.broken or "the study has no kernel")
        chain = follower.proof.chain
        for stored in self._storage.phases(since=chain.phases):
            if stored.ending is not None:
                raise ChainBroken(f"phase {stored.index} was closed, but its note is missing")
            phase, kept = stored.layout(self.problem.n_pairs), (stored.plan, stored.link)
            follow_plan(chain, phase, stored.commitment, order_of(stored.pairs), kept)
        return chain

    def sealed(self) -> Iterator[Sealed]:
        """Yield the closed phases for a checker."""
        for stored in self._storage.phases():
            if stored.ending is not None:
                yield self.description.sealed(stored)

    def status(self) -> Status:
        """Return the state of the study: cheap enough to ask every second."""
        standing = Standing.from_entries(
            self._storage.entries("created", "configuration", "state", "message")
        )
        counts, known, over = self._storage.counts(), self._last_note(), self.over
        writer = writer_of(self.path)
        answer = self.recorded if over else None
        left = left_now(
            known.expected_left if known else None,
            counts.phase_pulls - counts.phase_told,
            counts.open_told,
        )
        called_off = counts.open_pulls if over else 0
        tied = not over and is_near_tie(counts.told, left, self.description.settings)
        return Status(
            state=standing.state,
            message=standing.message,
            writer=writer,
            told=counts.told,
            called_off=called_off,
            unused=counts.open_told if over else 0,
            asked=0 if over else counts.asked,
            failed=counts.failed,
            retried=counts.retried,
            lost=counts.lost,
            phase=counts.phase,
            phase_pulls=counts.phase_pulls,
            phase_told=counts.phase_told,
            survivors=known.survivors if known else self.problem.n_arms,
            leader=known.leader if known else None,
            candidates=known.candidates if known else self.problem.arm_names,
            certified=answer.certified if answer else False,
            sentence=answer.sentence if answer else known.guess if known else None,
            reason=f"{answer.reason.name}: {answer.reason.value}" if answer else None,
            changes=self.remarks,
            beside=answer.beside if answer else [],
            expected_left=left,
            quiet=known.quiet if known else False,
            near_tie=NEAR_TIE if tied else None,
            pulls_per_minute=self._storage.recent_rate(),
            last_reward=self._storage.last_reward(),
            cost=self.settings.cost,
            spent=None if self.settings.cost is None else counts.spent,
            running=self._storage.running() if writer else [],
        )

    @property
    def pull_columns(self) -> list[str]:
        """The columns of `pulls`: a pull's reward, its arm, perturbation and parameters, and
        further outputs.
        """
        own = [name for name in PULL_COLUMNS if name != "others"]
        known = [*own, "arm", "perturbation", *self._parameter_columns]
        named = [f"output {name}" if name in known else name for name in self.output_names]
        return [*known, *named]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs beside the objective: those with limits first."""
        if self.description.outputs.objective is None:
            return []
        needed = self.description.outputs.needed[1:]
        return [*needed, *(n for n in self._storage.output_names() if n not in needed)]

    def pull_records(self, since: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of `pulls` by the names of its columns, without pandas."""
        columns, problem = self.pull_columns, self.problem
        rows = self._storage.pull_rows(since, limit)
        place, beside = (list(PULL_COLUMNS).index(name) for name in ("pair", "others"))
        names = self.output_names
        named: dict[int, list[Any]] = {}
        self._refuse_other_pairs(pulled := {row[place] for row in rows})
        for pair in pulled:
            arm = problem.arm_names[int(problem.arm_of_pair[pair])]
            own = problem.values_of(pair).values()
            named[pair] = [arm, problem.perturbation_names[pair], *own]
        records = []
        for row in rows:
            outputs = self._outputs_in(row[beside])
            came = [*row[:beside], *row[beside + 1 :], *named[row[place]]]
            values = [*came, *(outputs.get(name) for name in names)]
            records.append(dict(zip(columns, values, strict=True)))
        return records

    def _refuse_other_pairs(self, pairs: set[int]) -> None:
        if pairs and not 0 <= min(pairs) <= max(pairs) < self.problem.n_pairs:
            raise StudyFileError(
                f"{self.path} is damaged: it pulls pairs that it does not have; restore it from a "
                "copy"
            )

    def _outputs_in(self, text: str | None) -> dict[str, float]:
        try:
            return from_text(text or "")
        except (ValueError, RecursionError):
            raise StudyFileError(
                f"{self.path} is damaged: outputs of a pull are no numbers by name; restore it "
                "from a copy"
            ) from None

    def pulls(self, since: int = 0, limit: int | None = None) -> pd.DataFrame:
        """Return one row per pull from the given number: pair, names, parameters, outputs."""
        columns, outputs = self.pull_columns, self.output_names
        with contextlib.closing(self._pull_blocks(since, limit)) as blocks:
            return pull_frame(blocks, self.problem, columns, outputs, self._outputs_in)

    def _pull_blocks(
        self, since: int, limit: int | None
    ) -> Generator[list[tuple[Any, ...]], None, None]:
        place = list(PULL_COLUMNS).index("pair")
        for rows in self._storage.pull_blocks(since, limit):
            self._refuse_other_pairs({row[place] for row in rows})
            yield rows

    @property
    def _parameter_columns(self) -> list[str]:
        return [
            f"parameter {name}" if name in PULL_COLUMNS else name
            for name in self.problem.parameter_names
        ]

    def phase_records(self) -> list[dict[str, Any]]:
        """Return the rows of `phases` by the names of its columns, without pandas."""
        return [
            dict(zip(PHASE_COLUMNS, row, strict=False))
            | (Note.from_json(row[-1]).to_dict() if row[-1] else {})
            for row in self._storage.phase_rows()
        ]

    def phases(self) -> pd.DataFrame:
        """Return one row per phase: its pulls, its times, its layout, and the answer after it."""
        import pandas as pd

        return pd.DataFrame(self.phase_records() or {name: [] for name in PHASE_COLUMNS})

    def failures(self, limit: int = 100) -> pd.DataFrame:
        """Return the pulls that ever failed or lost a worker, the latest first."""
        import pandas as pd

        return pd.DataFrame(self._storage.failure_rows(limit), columns=list(FAILURE_COLUMNS))

    def correction_records(self) -> list[dict[str, Any]]:
        """Return the rows of `corrections` by the names of its columns, without pandas."""
        rows = self._storage.correction_rows()
        records = [dict(zip(CORRECTION_COLUMNS, row, strict=True)) for row in rows]
        return [{name: record[name] for name in self._correction_columns} for record in records]

    @property
    def _correction_columns(self) -> list[str]:
        single = self.description.outputs.objective is None
        beside = {"others_were", "others_became"} if single else set()
        return [name for name in CORRECTION_COLUMNS if name not in beside]

    def corrections(self) -> pd.DataFrame:
        """Return one row per reward that was corrected: pull, old and new reward, and when."""
        import pandas as pd

        return pd.DataFrame(self.correction_records(), columns=self._correction_columns)

    def log(self) -> pd.DataFrame:
        """Return one row per change of settings beside the question: when, and its text."""
        import pandas as pd

        return pd.DataFrame(self._storage.log_rows(), columns=list(LOG_COLUMNS))

    def durations(self, problem: RobustProblem) -> Durations | None:
        """Return how long the latest pulls took, of pairs that a problem has too; None without any.

        Args:
            problem: as the study's own, or with other arms and perturbations beside some of its.
        """
        rows = self._storage.durations(MOST_DURATIONS)
        self._refuse_other_pairs({row[0] for row in rows})
        pairs, seconds = (np.array([row[k] for row in rows]) for k in range(2))
        pairs = pairs.astype(np.int64)
        if problem.to_dict() != self.problem.to_dict():
            places = {_names(problem, pair): pair for pair in range(problem.n_pairs)}
            own = [places.get(_names(self.problem, k), -1) for k in range(self.problem.n_pairs)]
            pairs = np.array(own)[pairs]
        known = pairs >= 0
        return Durations(pairs[known], seconds[known]) if known.any() else None

    def pulls_per_minute(self, minutes: int = 60) -> pd.DataFrame:
        """Return the rewards per minute: columns `minute` (seconds since 1970) and `pulls`; no
        row for minutes without rewards.
        """
        import pandas as pd

        rows = self._storage.rewards_by_minute(since=time.time() - 60 * minutes)
        return pd.DataFrame(rows, columns=["minute", "pulls"])

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the study, also while it runs, to a new file that holds everything by itself."""
        self._storage.copy_to(Path(path))

    def close(self) -> None:
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unconfirmed(self, note: Note) -> Result:
        """Return the answer that was noted at the end, but for the certificate."""
        found = self._follower.result()
        if found is None:
            raise StudyFileError(
                f"{self.path}: the answer noted in it does not follow from its rewards, so it was "
                "changed or damaged: restore it from a copy"
            )
        if not (found.certified or note.certified):
            return found
        return replace(found, certified=False, reason=StopReason.NOT_VERIFIED)

    def _last_note(self) -> Note | None:
        found = self._storage.last_note()
        return Note.from_json(found) if found else None


def _names(problem: RobustProblem, pair: int) -> tuple[str, ...]:
    return tuple(problem.describe_pair(pair).values())
