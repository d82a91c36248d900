"""Who guesses the means from past data: each guide is one file, all keep one contract."""

from __future__ import annotations

from typing import Any

from surefoot.errors import InputError
from surefoot.guides.base import Guess, Guide, Seen, checked, first_pairs_of
from surefoot.guides.gaussian_process import GaussianProcess
from surefoot.guides.regressor import Regressor
from surefoot.guides.tabular import Tabular
from surefoot.guides.trend import Trend
from surefoot.problem.problem import RobustProblem

GUIDES: dict[str, type[Guide]] = {guide.name: guide for guide in (Tabular, Trend, GaussianProcess)}

__all__ = [
    "GUIDES",
    "GaussianProcess",
    "Guess",
    "Guide",
    "Regressor",
    "Seen",
    "Tabular",
    "Trend",
    "checked",
    "first_pairs_of",
    "guide_from",
]


def guide_from(choice: Any, problem: RobustProblem) -> Guide:
    """Return the guide of that name, the caller's own, or (None) a trend where features leave room
    for it.

    Args:
        choice: a name, a `Guide`, anything with `fit` and `predict`, or None.
        problem: whose features a trend would use.
    """
    if choice is None:
        return Trend() if problem.dimension < problem.n_pairs else Tabular()
    if isinstance(choice, str) and choice in GUIDES:
        return GUIDES[choice]()
    if isinstance(choice, Guide):
        return choice
    if hasattr(choice, "fit") and hasattr(choice, "predict") and not isinstance(choice, type):
        return Regressor(choice)
    raise InputError(
        f"guide={choice!r:.80} is not known: choose {', '.join(map(repr, GUIDES))}, or give a "
        "regressor with fit and predict"
    )
