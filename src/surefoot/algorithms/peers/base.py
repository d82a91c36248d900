"""The base of all peers: they compare pairs directly, each for its own kind of noise."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array
from surefoot.certify import Boundary
from surefoot.errors import InputError
from surefoot.noise import NOISE_MODELS
from surefoot.problem.coding import exact_number
from surefoot.problem.problem import RobustProblem


class Peer(Algorithm):
    """A procedure from the literature that compares means of pairs and knows no model.

    Attributes:
        noises: the kinds of noise that it was made for.
        shares_streams: whether it allows common random numbers.
    """

    supports: ClassVar[frozenset[str]] = frozenset({"unknown scale", "no model"})
    noises: ClassVar[tuple[str, ...]] = tuple(NOISE_MODELS)
    shares_streams: ClassVar[bool] = False

    def start(
        self, problem: RobustProblem, settings: Settings, boundary: Boundary | None = None
    ) -> Self:
        self._refuse(settings)
        return super().start(problem, settings, boundary)

    @property
    def averages(self) -> Array:
        """(n_pairs,) mean rewards; 0 before the first pull."""
        return np.asarray(self.tally.sums / np.maximum(self.tally.counts, 1))

    def lead(self) -> None:
        """Let the arm whose worst mean reward is best lead."""
        self.leader = int(np.argmax(self.problem.worst_of(self.averages)))

    def only(self, arm: int) -> None:
        """Leave one arm."""
        self.leader = arm
        self.survivors = np.arange(self.problem.n_arms) == arm

    def _refuse(self, settings: Settings) -> None:
        if settings.modelled:
            raise InputError(
                f"{self.name} compares pairs and knows no model: give misfit=math.inf, or use "
                '"prime", which can use the model'
            )
        if settings.guide is not None:
            raise InputError(
                f"{self.name} has no guide, it knows only what it has pulled: leave guide out, or "
                'use "prime", which takes one'
            )
        if settings.noise.kind not in self.noises:
            made_for = " or ".join(NOISE_MODELS[kind].usage for kind in self.noises)
            raise InputError(
                f"{self.name} is not made for {settings.noise.kind} noise: give noise={made_for}, "
                'or use "prime"'
            )
        if settings.common_random_numbers and not self.shares_streams:
            raise InputError(
                f"{self.name} needs independent pulls: leave common_random_numbers at False, or "
                'use "kn-rsb" or "prime", which allow them'
            )


def positive(name: str, option: str, given: Any) -> float:
    """Return an option as a positive number."""
    try:
        number = exact_number(given)
    except InputError:
        number = 0.0
    if number <= 0:
        raise InputError(
            f"{name} needs {option} to be a positive number, in the unit of the rewards, not "
            f'{given!r:.60}: in study.toml algorithm = {{ name = "{name}", {option} = 1.0 }}, in '
            f"Python an instance from surefoot.algorithms.peers, with {option}=1.0"
        )
    return number


def whole(name: str, option: str, given: Any, least: int) -> int:
    """Return an option as a whole number that is large enough."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InputError(
            f"{name} needs {option} to be a whole number from {least} on, not {given!r:.60}"
        )
    return int(given)
