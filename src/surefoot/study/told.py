"""Rewards that a caller tells: checked, then stored all together or not at all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any

from surefoot.errors import InputError, SurefootWarning
from surefoot.study.ledger import Ledger
from surefoot.study.pull import Pull, Report
from surefoot.study.toml.input import finite_reward, pull_number


class Told:
    """The way of told rewards into the ledger of a study."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def store(self, rewards: Iterable[tuple[int | Pull, float]], study: str | None) -> int:
        """Add rewards of pulls that have none yet; gives how many there were.

        Args:
            study: the identifier that stood beside the numbers; None if none did.
        """
        now, ledger = time.time(), self._ledger
        with ledger.mutex:
            checked = self._checked(rewards, study)
            new = self._without_repeats(
                [Report(number, reward, None, None, now) for number, reward in checked]
            )
            ledger.record(new)
            if new:
                ledger.resume()
        return len(new)

    def replace(self, rewards: Iterable[tuple[int | Pull, float]], study: str | None) -> None:
        """Put rewards in the place of those that pulls of this phase have."""
        with self._ledger.mutex:
            self._ledger.correct(dict(self._checked(rewards, study)))

    def _checked(
        self, rewards: Iterable[tuple[int | Pull, Any]], study: str | None
    ) -> list[tuple[int, float]]:
        """Pulls that this study asked for, with rewards that they may have had."""
        self._refuse_another(study)
        known = [(self._number(pull, study), given) for pull, given in rewards]
        checked = [(number, finite_reward(number, given)) for number, given in known]
        for number, reward in checked:
            self._ledger.description.refuse_impossible(number, reward)
        return checked

    def _number(self, pull: int | Pull, study: str | None) -> int:
        if not isinstance(pull, Pull):
            return pull_number(pull, self._ledger.asked)
        if study is None:
            self._refuse_another(pull.study)
        return pull_number(pull.id, self._ledger.asked)

    def _refuse_another(self, study: str | None) -> None:
        own = self._ledger.description.id
        if study is not None and study != own:
            raise InputError(
                f"this reward belongs to study {study!r:.60}, but {self._ledger.storage.path} "
                f"is study {own!r}"
            )

    def _without_repeats(self, reports: list[Report]) -> list[Report]:
        new: dict[int, Report] = {}
        for report in reports:
            if report.id in new or not self._ledger.needs(report.id):
                warnings.warn(
                    f"pull {report.id} has its reward already: the first one counts, "
                    f"{report.reward!r} is ignored",
                    SurefootWarning,
                    stacklevel=5,  # whoever called Study.tell
                )
            else:
                new[report.id] = report
        return list(new.values())
