"""A pull: one call of the simulator, with its number, its pair and its random streams."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.coding import Value, exact_number
from surefoot.problem.problem import RobustProblem
from surefoot.study.input import Simulated

# the second number of a key: (number,) alone is a pull's own stream, (phase, 1) the order of pulls
OF_PULL, OF_BLOCK = 0, 2
LARGEST_COST = 1e100
RESERVED = (
    *("id", "seed", "arm", "perturbation", "block", "stream", "study", "rng", "pull", "reward"),
)


def refuse_reserved(parameter_names: Iterable[str]) -> None:
    """Refuse parameters that are called like something that each pull has of its own."""
    for name in parameter_names:
        if name in RESERVED:
            raise InputError(
                f"a parameter cannot be called {name!r}, since every pull has a {name} of its own: "
                f"rename it, to {name}_value for example"
            )


@dataclass(frozen=True, eq=False)
class Pull(Mapping[str, Value]):
    """A call of the simulator; as a mapping, its parameters by name.

    The random streams depend on the study's question and seed, on what was planned for the phase
    and on the number of the pull, or of its block, alone: a retry, on any machine and in any order,
    gives the same reward.

    Attributes:
        id: the number of the pull, 0 for the first of the study.
        study: the identifier of the study that asked for it.
        phase: the phase it belongs to.
        pair: the row of the pair in the problem.
        arm, perturbation: their names.
        parameters: the perturbed arm, to be simulated, by name.
        features: (n_features,) the feature map's image of the parameters.
        study_seed: from which all streams of the study's phase are derived.
        block: with common random numbers, the number of the block whose streams this pull shares
            with one pull of every other pair in it; None if its streams are its own.
        own_values: the arm's own parameters, in the order of `parameters`; None if only its pairs
            are known.
        charged: its cost, as charged by the simulator; None without a charge.
    """

    id: int
    study: str
    phase: int
    pair: int
    arm: str
    perturbation: str
    parameters: dict[str, Value]
    features: Array
    study_seed: int
    block: int | None = None
    own_values: tuple[Value, ...] | None = None
    charged: float | None = None

    __eq__, __hash__ = object.__eq__, object.__hash__  # two pulls are never equal

    def __getitem__(self, name: str) -> Value:
        if name not in self.parameters and name in RESERVED:
            raise KeyError(
                f"{name!r} is no parameter: name it among the arguments of the function, or take "
                "it from the pull itself, as pull.seed or pull.rng()"
            )
        return self.parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the features as bytes: an array would be most of the cost of a tiny pull."""
        words = (self.id, self.study, self.phase, self.pair, self.arm, self.perturbation)
        rest = (self.study_seed, self.block, self.own_values)
        return _received, (words, self.parameters, self.features.tobytes(), rest)

    @property
    def nominal(self) -> dict[str, Value] | None:
        """The unperturbed (nominal) arm, by name; None if only its pairs are known."""
        if self.own_values is None:
            return None
        return dict(zip(self.parameters, self.own_values, strict=True))

    @property
    def seed_sequence(self) -> np.random.SeedSequence:
        """The seed with which this pull's stream begins."""
        key = (self.id,) if self.block is None else (self.block, OF_BLOCK)
        return np.random.SeedSequence(self.study_seed, spawn_key=key)

    def rng(self) -> np.random.Generator:
        """Return a fresh generator at the beginning of this pull's stream."""
        return np.random.default_rng(self.seed_sequence)

    def stream(self, number: int) -> np.random.Generator:
        """Return a fresh generator at the beginning of a further stream, independent of the others.

        A simulator with a stream for each source of its randomness (arrivals, services,
        breakdowns) keeps them in step over the pulls of a block: 0, 1, 2, …
        """
        if not isinstance(number, numbers.Integral) or number < 0:
            raise InputError(f"pull.stream({number!r:.60}): streams are numbered 0, 1, 2, …")
        own = (self.id, OF_PULL) if self.block is None else (self.block, OF_BLOCK)
        source = np.random.SeedSequence(self.study_seed, spawn_key=(*own, int(number)))
        return np.random.default_rng(source)

    def charge(self, cost: float) -> None:
        """Charge a cost of this call, in any unit, 0 or more; several charges add up.

        A study with cost="reported" then pulls where it is worth its cost.
        """
        try:
            amount = exact_number(cost)
        except InputError:
            amount = -1.0
        if not 0 <= amount < LARGEST_COST:
            raise InputError(
                f"pull.charge({cost!r:.60}): a cost is a number from 0 to below {LARGEST_COST:g}"
            )
        object.__setattr__(self, "charged", amount + (self.charged or 0.0))

    @property
    def seed(self) -> int:
        """A whole number below 2³¹ for programs that want one; shared like the stream."""
        return int(self.seed_sequence.generate_state(1)[0] >> 1)


def _received(
    words: tuple[int, str, int, int, str, str],
    parameters: dict[str, Value],
    features: bytes,
    rest: tuple[int, int | None, tuple[Value, ...] | None],
) -> Pull:
    return Pull(*words, parameters, np.frombuffer(features), *rest)


class _Values(NamedTuple):
    arm: str
    perturbation: str
    parameters: dict[str, Value]
    features: Array
    nominal: tuple[Value, ...] | None


class PullFactory:
    """Makes the pulls of one study, with the names and numbers of each pair looked up once."""

    def __init__(self, problem: RobustProblem, study: str, study_seed: int) -> None:
        self._problem, self._study, self._seed = problem, study, study_seed
        self._known: dict[int, _Values] = {}
        self._nominal: dict[int, tuple[Value, ...] | None] = {}

    def seeded(self, seed: int) -> PullFactory:
        """Return a factory for this study whose pulls have other streams."""
        other = copy.copy(self)
        other._seed = seed
        return other

    def __call__(self, number: int, phase: int, pair: int, block: int | None = None) -> Pull:
        known = self._known.get(pair)
        if known is None:
            known = self._known[pair] = self._values(pair)
        return Pull(
            number,
            self._study,
            phase,
            pair,
            known.arm,
            known.perturbation,
            known.parameters.copy(),
            known.features,
            self._seed,
            block,
            known.nominal,
        )

    def _values(self, pair: int) -> _Values:
        """Return the values that pulls of a pair share; the nominal arm is one object for all of
        its pairs, which a message to a worker holds once.
        """
        problem, arm = self._problem, int(self._problem.arm_of_pair[pair])
        if arm not in self._nominal:
            own = problem.nominal_values(arm)
            self._nominal[arm] = None if own is None else tuple(own.values())
        return _Values(
            arm=problem.arm_names[arm],
            perturbation=problem.perturbation_names[pair],
            parameters=problem.values_of(pair),
            features=problem.features[pair],
            nominal=self._nominal[arm],
        )


Simulate = Callable[[Pull], Simulated]


class Report(NamedTuple):
    """The outcome of a pull: a reward, or an error.

    Attributes:
        id: the number of the pull.
        reward: as measured; outputs by name, as they came, until they are read; None if it failed.
        error: why it failed; None if it did not.
        started, finished: seconds since 1970, by the clock of the machine that simulated.
        cost: charged by the simulator; None without a charge.
        others: further outputs, as text.
    """

    id: int
    reward: Any
    error: str | None
    started: float | None
    finished: float
    cost: float | None = None
    others: str = ""
