"""The course of a run that is asked for its best guess: pulls go where the guess may change."""

from __future__ import annotations

from surefoot.algorithms.prime.course import Layout
from surefoot.algorithms.prime.direct.course import DirectCourse
from surefoot.algorithms.tally import Tally
from surefoot.design.rounding import by_remainders


class GuessCourse(DirectCourse):
    """Spends the budget in proportion to how often each pair is the worst of one of the best two
    arms, if means are drawn as the guide guesses them (top-two Thompson sampling).

    The last of it goes to direct comparisons of the leader with its rivals, which serve the guess
    and are evidence too: what is said of confidence and candidates is as valid as in a run that
    certifies.
    """

    def next(self, tally: Tally, remaining: float) -> Layout | None:
        self.contest = None
        if self.first_pulls is None:
            return self._first_pulls(remaining)
        learning = int(self.tuning.guess_share * (tally.samples + remaining)) - tally.samples
        if learning >= 1:
            return self._learn_more(tally, learning)
        compared = None if super().exhausted else self._compare(remaining)
        return self._learn_more(tally, int(remaining)) if compared is None else compared

    @property
    def exhausted(self) -> bool:
        """Never: a guess goes on improving when no more looks are planned."""
        return False

    def _learn_more(self, tally: Tally, most: int) -> Layout:
        tuning, view = self.tuning, self._opinion(tally)
        pulls = int(min(max(tuning.pilot_share * tally.samples, tuning.pilot_least), most))
        return Layout(by_remainders(pulls * view.interest, pulls))
