"""Every pair by itself, drawn towards the mean of all: a guide without any structure."""

from __future__ import annotations

import numpy as np

from surefoot.guides.base import Guess, Guide, Seen

# A pair of which little is known must not be taken for average only because the others are alike:
# then it would never be tried again.
LEAST_KEPT = 0.5


class Tabular(Guide):
    """Means of the pairs' own rewards, shrunk by as much as their differences may be noise."""

    name = "tabular"

    def guess(self, seen: Seen) -> Guess:
        pulled, errors = seen.pulled, seen.errors
        means = seen.means[pulled]
        centre = float(np.average(means, weights=1 / errors))
        between = max(float(means.var() - errors.mean()), 0.0)
        kept = np.maximum(between / (between + errors), LEAST_KEPT)
        guess = np.full(len(seen.counts), centre)
        deviations = np.full(len(seen.counts), np.sqrt(max(between, float(errors.max()))))
        guess[pulled] = centre + kept * (means - centre)
        deviations[pulled] = np.sqrt(kept * errors)
        return Guess(guess, deviations)
