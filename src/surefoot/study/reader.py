"""StudyReader: look at a study, also while it runs. Readers write nothing and never hold the writer
up.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from surefoot.algorithms import Algorithm, Result, Settings
from surefoot.problem import RobustProblem
from surefoot.study.description import Description
from surefoot.study.forecast import left_now
from surefoot.study.lock import writer_of
from surefoot.study.record import Record
from surefoot.study.replay import replay
from surefoot.study.storage import ReadStorage

if TYPE_CHECKING:
    import pandas as pd

PULL_COLUMNS = "id, phase, pair, state, reward, attempts, losses, started, finished, error"


@dataclass(frozen=True)
class Status:
    """A study at one moment, read without replaying it.

    Attributes:
        state: "running", "paused" or "finished"; a study whose driver was killed is still
            "running", without a writer.
        message: why it is paused or finished.
        writer: the process that has it open for writing, if any.
        told, asked, failed, lost: pulls with a reward; handed out by `surefoot ask`; given up; that
            lost a worker ever.
        phase, phase_pulls, phase_told: the phase being pulled.
        survivors, leader, candidates, certified, sentence: after the last complete phase.
        expected_left: pulls still needed if the estimates are right.
        pulls_per_minute: over the last 200 rewards.
        last_reward: when it came, in seconds since 1970.
    """

    state: str
    message: str | None
    writer: str | None
    told: int
    asked: int
    failed: int
    lost: int
    phase: int
    phase_pulls: int
    phase_told: int
    survivors: int
    leader: str | None
    candidates: list[str]
    certified: bool
    sentence: str | None
    expected_left: float | None
    pulls_per_minute: float | None
    last_reward: float | None


class StudyReader:
    """A study opened for reading.

    Rewards are given as they were measured. The result is for rewards to be maximised: with
    direction "minimize", its values are those of −reward; multiply by `sign` for the user's own.
    """

    def __init__(self, path: str | os.PathLike[str], *, algorithm: Algorithm | None = None) -> None:
        self._storage = ReadStorage(path)
        entries = self._storage.entries()
        self.description = Description.from_entries(entries)
        self.created: float = entries["created"]
        self.configuration: dict[str, Any] | None = entries["configuration"]
        self._run: Algorithm | None = None
        self._own_algorithm = algorithm
        self._record = Record(self.description, self._storage)

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
    def sign(self) -> int:
        """1, or −1 if the study minimises."""
        return self.description.sign

    @property
    def result(self) -> Result:
        """The answer after the last complete phase, by replaying what came since the last look."""
        if self._run is None:
            self._run = self.description.start(self._own_algorithm)
        replay(self.description, self._run, self._storage.phases(since=len(self._run.history)))
        self._run.next_phase()  # finds out whether the run is over
        return self._run.result

    @property
    def recorded(self) -> Result:
        """The same answer from what the writer noted after each phase: nothing is planned anew.

        So it is quick, and needs no algorithm that surefoot does not ship. Where the notes do not
        tell all (many arms, or a file of an early version), it is `result`.
        """
        found = self._record.result()
        return self.result if found is None else found

    def status(self) -> Status:
        """How the study is: cheap enough to ask every second."""
        entries = dict(
            self._storage.rows("SELECT key, value FROM study WHERE key IN ('state', 'message')")
        )
        phase, size, told_before = self._current_phase()
        known = self._last_summary()
        phase_told = self._one(
            "SELECT count(*) FROM pulls WHERE id >= ? AND state = 'done'", told_before
        )
        return Status(
            state=json.loads(entries["state"]),
            message=json.loads(entries["message"]),
            writer=writer_of(self.path),
            told=told_before + phase_told,
            asked=self._one(
                "SELECT count(*) FROM pulls WHERE id >= ? AND state = 'asked'", told_before
            ),
            failed=self._one("SELECT count(*) FROM pulls WHERE state = 'failed'"),
            lost=self._one("SELECT count(*) FROM pulls WHERE error IS NOT NULL AND losses > 0"),
            phase=phase,
            phase_pulls=size,
            phase_told=phase_told,
            survivors=known.get("survivors", self.problem.n_arms),
            leader=known.get("leader"),
            candidates=known.get("candidates", self.problem.arm_names),
            certified=known.get("certified", False),
            sentence=known.get("sentence"),
            expected_left=left_now(known.get("expected_left"), size, phase_told),
            pulls_per_minute=self._recent_rate(),
            last_reward=self._storage.rows(
                "SELECT max(finished) FROM pulls WHERE finished IS NOT NULL"
            )[0][0],
        )

    def pulls(self, since: int = 0, limit: int | None = None) -> pd.DataFrame:
        """One row a pull from the given number: pair, names, parameters, state, reward, attempts,
        times, error.
        """
        import pandas as pd

        rows = self._storage.rows(
            f"SELECT {PULL_COLUMNS} FROM pulls WHERE id >= ? ORDER BY id LIMIT ?",
            (since, -1 if limit is None else limit),
        )
        frame = pd.DataFrame(rows, columns=PULL_COLUMNS.split(", "))
        pairs = self.problem.to_frame()
        named = pairs.iloc[frame["pair"].to_numpy(dtype="int64")].reset_index(drop=True)
        named.columns = [
            c if c in ("arm", "perturbation") or c not in frame else f"parameter {c}"
            for c in named.columns
        ]
        return pd.concat(
            [
                frame.astype({"reward": "float64", "started": "float64", "finished": "float64"}),
                named,
            ],
            axis=1,
        )

    def phases(self) -> pd.DataFrame:
        """One row a phase: its pulls, when it was planned and finished, and what was known after
        it.
        """
        import pandas as pd

        columns = ["phase", "first_pull", "pulls", "planned", "finished"]
        rows = self._storage.rows(
            f"SELECT {', '.join(columns)}, summary FROM phases ORDER BY phase"
        )
        known = [json.loads(row[-1]) if row[-1] else {} for row in rows]
        return pd.concat(
            [pd.DataFrame([row[:-1] for row in rows], columns=columns), pd.DataFrame(known)], axis=1
        )

    def failures(self, limit: int = 100) -> pd.DataFrame:
        """The pulls that failed or lost a worker, the latest first, whether or not they succeeded
        later.
        """
        import pandas as pd

        columns = "id, pair, state, attempts, losses, started, error"
        rows = self._storage.rows(
            f"SELECT {columns} FROM pulls WHERE error IS NOT NULL ORDER BY id DESC LIMIT ?",
            (limit,),
        )
        return pd.DataFrame(rows, columns=columns.split(", "))

    def pulls_per_minute(self, minutes: int = 60) -> pd.DataFrame:
        """Rewards in each of the last minutes that had any: columns `minute` (seconds since 1970)
        and `pulls`.
        """
        import pandas as pd

        rows = self._storage.rows(
            "SELECT CAST(finished / 60 AS INTEGER) * 60 AS minute, count(*) FROM pulls "
            "WHERE finished IS NOT NULL AND finished >= ? GROUP BY minute ORDER BY minute",
            (time.time() - 60 * minutes,),
        )
        return pd.DataFrame(rows, columns=["minute", "pulls"])

    def close(self) -> None:
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _one(self, query: str, *values: Any) -> int:
        return int(self._storage.rows(query, values)[0][0])

    def _current_phase(self) -> tuple[int, int, int]:
        """Its index, its pulls, and all pulls before it."""
        found = self._storage.rows(
            "SELECT phase, pulls, first_pull FROM phases ORDER BY phase DESC LIMIT 1"
        )
        return found[0] if found else (0, 0, 0)

    def _last_summary(self) -> dict[str, Any]:
        """After the last complete phase; a study that needed none has only its result."""
        found = self._storage.rows(
            "SELECT summary FROM phases WHERE summary IS NOT NULL ORDER BY phase DESC LIMIT 1"
        )
        found = found or self._storage.rows("SELECT value FROM study WHERE key = 'result'")
        known: dict[str, Any] = json.loads(found[0][0]) if found else {}
        return known

    def _recent_rate(self, rewards: int = 200) -> float | None:
        found = self._storage.rows(
            "SELECT min(finished), max(finished), count(*) FROM "
            "(SELECT finished FROM pulls WHERE finished IS NOT NULL ORDER BY "
            "finished DESC LIMIT ?)",
            (rewards,),
        )
        first, last, count = found[0]
        return 60 * (count - 1) / (last - first) if count > 1 and last > first else None
