"""The paper's dosing problem: calculator settings as arms, errors in their two factors, a pull as
two simulated days.

Research on virtual patients; not medical advice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.noise import Bounded, Gaussian, Noise
from surefoot.paper.glucose import (
    Calculator,
    Patient,
    all_patients,
    diet,
    find_patient,
    lane_seeds,
    simulate,
)
from surefoot.paper.glucose.day import CARB_RULE, CORRECTION_RULE, DAY_FACTORS
from surefoot.paper.glucose.metrics import HIGH, LOW, Statistic, Statistics
from surefoot.paper.glucose.simulate import Words
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome, Phase


@dataclass(frozen=True)
class _Reward:
    """A reward is the sum over a low- and a high-carb day of the worth of each.

    Attributes:
        name: as a user types it.
        title: for people; the larger, the better.
        statistics: of a day, from which it is made.
        of_a_day: one day's part.
        noise: the model of a pull's noise.
        others: parts of a day's other outputs, which limits are about, by name.
    """

    name: str
    title: str
    statistics: tuple[Statistic, ...]
    of_a_day: Callable[[Statistics], Array]
    noise: Noise
    others: dict[str, Callable[[Statistics], Array]] = field(default_factory=dict)


RISK = _Reward(
    "risk",
    "−(highest risk of a low- and of a high-carb day)",
    ("magni_risk",),
    lambda day: day.reward,
    Gaussian(),
)
TIME_IN_RANGE = _Reward(
    "time-in-range",
    f"% of time in {LOW:g}–{HIGH:g} mg/dL",
    ("time_in_range",),
    lambda day: 50 * day["time_in_range"],
    Bounded(0, 100),
)
TIME_BELOW = _Reward(
    "time-below",
    f"−(% of time below {LOW:g} mg/dL)",
    ("time_below",),
    lambda day: -50 * day["time_below"],
    Bounded(-100, 0),
)
RISK_INDEX = _Reward(
    "risk-index",
    "−(risk index, LBGI + HBGI)",
    ("lbgi", "hbgi"),
    lambda day: -0.5 * day.risk_index,
    Gaussian(),
)
REWARDS = {reward.name: reward for reward in (RISK, TIME_IN_RANGE, TIME_BELOW, RISK_INDEX)}


def find_reward(name: str) -> _Reward:
    """Return the reward of that name."""
    if name not in REWARDS:
        raise InputError(f"reward={name!r} is not known: choose {', '.join(REWARDS)}")
    return REWARDS[name]


DISCLAIMER = "Research on virtual patients. Not medical advice, and not a medical device."
INSULIN_RANGE = (0.75, 1.25)  # TDI of the arms, as shares of the patient's own
CARB_RANGE = (0.95, 1.05)  # CarbF as it may really be, as shares of the arm's
CORRECTION_RULES = (1500.0, 2200.0)  # CorrF as it may really be: this over the arm's TDI
PARAMETERS = ("lc", "hc", "TDI", "CarbF", "CorrF")
DAYS = ("low", "high")


@dataclass(frozen=True, eq=False)
class Dosing:
    """One patient's problem, with its pairs under the paper's linear model, a guide's and none.

    Attributes:
        patient: the simulated patient.
        linear: features lc, hc, TDI, CarbF, CorrF as in the paper; they span 4 dimensions, for lc
            and hc are constant.
        curved: the same pairs, with features for a guide: see `dose_features`.
        tabular: the same pairs, one feature each.
        reward: of a pull.
    """

    patient: Patient
    linear: RobustProblem
    curved: RobustProblem
    tabular: RobustProblem
    reward: _Reward = RISK

    @property
    def baseline_arm(self) -> int:
        """The arm in the middle, which is the standard calculator."""
        return self.linear.n_arms // 2

    def arm_setting(self, arm: int) -> tuple[float, float]:
        """Return CarbF and CorrF of an arm without any error."""
        insulin = float(self.linear.parameters[self.linear.pairs_of(arm).start, 2])
        return CARB_RULE / insulin, CORRECTION_RULE / insulin

    def pair_setting(self, pair: int) -> tuple[float, float]:
        """Return CarbF and CorrF of a pair."""
        carb, correction = self.linear.parameters[pair, 3:5].tolist()
        return carb, correction


def require_sizes(n_arms: int, n_perturbations: int) -> None:
    """Refuse numbers of arms and perturbations that make no problem."""
    if n_arms < 3 or n_arms % 2 == 0:
        raise InputError(
            f"{n_arms} arms were asked for: give an odd number of at least 3, "
            "so that the standard calculator stands in the middle of the arms"
        )
    if n_perturbations < 1:
        raise InputError(f"{n_perturbations} perturbations an arm were asked for: give at least 1")


def make_dosing(
    name: str | Patient,
    seed: int = 0,
    n_arms: int = 15,
    n_perturbations: int = 5,
    reward: _Reward = RISK,
    insulin_range: tuple[float, float] = INSULIN_RANGE,
) -> Dosing:
    """Return the problem of one patient: the arms are evenly spaced, the errors uniform in the
    paper's ranges.

    The errors depend on the seed, the patient and the numbers of arms and perturbations alone.
    Arms range over these shares of the patient's total daily insulin.
    """
    require_sizes(n_arms, n_perturbations)
    patient = find_patient(name)
    insulin = patient.total_daily_insulin * np.linspace(*insulin_range, n_arms)
    meals = [DAY_FACTORS[day] * patient.daily_carbohydrates for day in DAYS]
    arms = np.column_stack(
        [np.tile(meals, (n_arms, 1)), insulin, CARB_RULE / insulin, CORRECTION_RULE / insulin]
    )
    generator = np.random.default_rng(stream(seed, patient, "errors"))
    shape = (n_arms, n_perturbations)
    carb = arms[:, 3, None] * generator.uniform(*CARB_RANGE, shape)
    correction = generator.uniform(*CORRECTION_RULES, shape) / insulin[:, None]
    errors = np.zeros((*shape, len(PARAMETERS)))
    errors[..., 3] = arms[:, 3, None] - carb
    errors[..., 4] = arms[:, 4, None] - correction
    names = [f"TDI {value:.2f}" for value in insulin]
    labels = [[f"error {k + 1}" for k in range(n_perturbations)]] * n_arms
    linear, curved, tabular = (
        RobustProblem.paper(
            arms,
            list(errors),
            features=features,
            arm_names=names,
            perturbation_names=labels,
            parameter_names=PARAMETERS,
        )
        for features in ("given", _dose_features, "tabular")
    )
    return Dosing(patient, linear, curved, tabular, reward)


def _dose_features(parameters: Array) -> Array:
    """Return (n_pairs, 4) features of the doses: 1, insulin for a gram, its square, for a mg/dL.

    Both doses are centred, and divided by their standard deviations over the pairs. Too little
    insulin is as bad as too much, so the reward is curved in the first.
    """
    carb, correction = ((dose - dose.mean()) / dose.std() for dose in 1 / parameters[:, 3:5].T)
    return np.column_stack([np.ones(len(carb)), carb, carb**2, correction])


PURPOSES = ("errors", "pilot", "truth", "identify", "evaluation", "profiles")


def stream(seed: int, patient: Patient, purpose: str, *more: int) -> np.random.SeedSequence:
    """Return the random stream of one purpose of one patient: independent of every other."""
    number = [other.name for other in all_patients()].index(patient.name)
    return np.random.SeedSequence(seed, spawn_key=(number, PURPOSES.index(purpose), *more))


def branch(source: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """Return the numbered child of a stream; unlike `spawn`, the same at every call."""
    return np.random.SeedSequence(source.entropy, spawn_key=(*source.spawn_key, number))


def day_rewards(dosing: Dosing, pairs: IntArray, source: np.random.SeedSequence) -> Array:
    """Return (2, n_pulls) the worth of a low- and of a high-carb day of each pull, with noise of
    its own for every day.
    """
    seeds = lane_seeds(source, (len(DAYS), len(pairs)))
    return dosing.reward.of_a_day(simulated_days(dosing, pairs, seeds))


def simulated_days(dosing: Dosing, pairs: IntArray, seeds: Words) -> Statistics:
    """Simulate a low- and a high-carb day of each pull.

    Args:
        seeds: (2, n_pulls) of the sensor's noise: equal seeds, equal noise.
    """
    carb, correction = dosing.linear.parameters[pairs, 3], dosing.linear.parameters[pairs, 4]
    days = np.array([diet(day) for day in DAYS], dtype=object)[:, None]
    calculators = Calculator(carb, correction)
    return simulate(dosing.patient, calculators, days, seeds, statistics=dosing.reward.statistics)


class BolusSimulator:
    """Pulls a whole phase in one batch; a pull's noise depends on the source, its phase and its
    place there alone.

    Where a phase shares streams, the settings of a block meet the same sensor noise: the k-th pulls
    of batch b of all pairs do.

    Args:
        source: where all randomness comes from.
    """

    def __init__(self, dosing: Dosing, source: np.random.SeedSequence) -> None:
        self._dosing, self._source = dosing, source

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(len(phase.counts)), phase.counts)
        streams = stream_numbers(phase)
        seeds = lane_seeds(branch(self._source, phase.index), (len(DAYS), int(streams.max()) + 1))
        days, reward = simulated_days(self._dosing, pairs, seeds[:, streams]), self._dosing.reward
        rewards = reward.of_a_day(days).sum(axis=0)
        others = {name: part(days).sum(axis=0) for name, part in reward.others.items()}
        return Outcome.from_rewards(phase, len(phase.counts), pairs, rewards, others)


def stream_numbers(phase: Phase) -> IntArray:
    """Return (n_pulls,) numbers of the random streams that pulls use, pair after pair.

    Pulls have streams of their own, unless the phase shares them: then the k-th pull of a batch
    uses one stream for all pairs, and pulls beyond full batches keep their own.
    """
    if not phase.shared:
        return np.arange(phase.samples)
    size, turn = phase.counts // max(phase.batches, 1), _turns(phase.counts)
    sizes = np.repeat(size, phase.counts)
    batch, place = np.divmod(turn, np.maximum(sizes, 1))
    common = (batch < phase.batches) & (sizes > 0)
    own = phase.batches * int(size.max()) + np.cumsum(~common) - 1
    return np.where(common, batch * int(size.max()) + place, own)


def _turns(counts: IntArray) -> IntArray:
    """Return (n_pulls,) the number of earlier pulls of each pull's pair."""
    begins = np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.arange(int(counts.sum())) - begins)
