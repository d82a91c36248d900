"""The course of a run that is asked for its best guess: pulls go where the guess may change."""

from __future__ import annotations

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.prime.direct.course import DirectCourse
from surefoot.algorithms.reasons import StopReason
from surefoot.design.rounding import by_remainders


class GuessCourse(DirectCourse):
    """Spends the budget in proportion to how often each pair is the worst of one of the best two
    arms, if means are drawn as the guide guesses them (top-two Thompson sampling).

    The last of it goes to direct comparisons of the leader with its rivals, which serve the guess
    and are evidence too: what is said of confidence and candidates is as valid as in a run that
    certifies.
    """

    def propose(self, past: Past) -> Proposal | StopReason | None:
        if self.first_pulls is None:
            return Proposal(*self._first_pulls(past.remaining))
        if not past.tally.samples:
            return self._meanwhile(past)
        assert self.settings.budget is not None
        samples, remaining = int(self.settings.budget - past.remaining), past.remaining
        learning = int(self.tuning.guess_share * (samples + remaining)) - samples
        if learning >= 1:
            return self._learn_more(past, learning)
        compared = self._compare(past) if self._may_compare(past) else StopReason.BUDGET
        if isinstance(compared, Proposal):
            return compared
        return self._learn_more(past, int(remaining))

    @property
    def goes_on(self) -> bool:
        """Always: a guess goes on improving when no more looks are planned."""
        return True

    def _may_compare(self, past: Past) -> bool:
        """Return whether the clock of a rival can go on."""
        places, last = past.places, len(self.boundary.times) - 1
        return last == 0 or bool((places[self.order[1:]] < last).any())

    def _learn_more(self, past: Past, most: int) -> Proposal:
        tuning, view = self.tuning, self._opinion(past)
        pulls = int(min(max(tuning.pilot_share * past.tally.samples, tuning.pilot_least), most))
        return Proposal(by_remainders(pulls * view.interest, pulls))
