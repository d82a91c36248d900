"""Doubt: never above the exact walk, and below it where falls are rare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Rows
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import student_scores
from surefoot.doubt import Doubt, NormalityPenalty, _after_a_fall, _corrected
from surefoot.statistics import Levels, Outcome, Phase

OFFSETS = np.array([0, 2, 5])
SUSPICION = NormalityPenalty(hidden=5.0, fall=4.0, quiet=0.2, pulls=0, shared=True)


@dataclass
class Cells:
    challenger: int = 0
    places: IntArray = field(default_factory=lambda: np.array([0]))
    columns: IntArray = field(default_factory=lambda: np.array([3]))
    arms: IntArray = field(default_factory=lambda: np.array([1]))


class Weighed(NamedTuple):
    """Batches of one comparison, its step, and how many pulls its own pair had for each other."""

    values: Array
    step: float
    scores: Array
    lean: float = 1.0
    measured: bool = True


class Together:
    """One comparison after another: what each adds to the walk once doubt has limited it."""

    def __init__(self, offsets: IntArray, tolerance: float, suspicion: NormalityPenalty) -> None:
        self.doubt, self.offsets = Doubt(offsets, True, tolerance, suspicion), offsets
        self.exact, self.held = np.zeros(2), np.zeros(2)

    def add(self, where: Cells, phase: Weighed, levels: Levels | None = None) -> Array:
        if levels is not None:
            self.doubt.levels = levels
        own, m = self.offsets[where.challenger] + where.places, len(phase.values)
        shares = Rows(np.array([0, 1]), where.columns, np.ones(1))
        clocks, every = np.zeros(1, dtype=np.int64), np.array(np.inf)
        claims = Claims(where.challenger, own, where.arms, clocks, shares, every)
        said = Contrasts(phase.values, np.full((2, 1, 1), 2 / m) * phase.measured)
        counts = np.zeros(self.offsets[-1], dtype=np.int64)
        lean = np.clip(phase.lean, 1e-3, 2 - 1e-3)
        counts[own], counts[where.columns] = round(1e6 * (2 - lean)), round(1e6 * lean)
        root = np.sqrt(np.array([phase.step]))
        limits = self.doubt.limits(claims, said, root, Phase(0, counts, m))[:, 0, 0]
        self.exact = self.exact + root * phase.scores[:, 0, 0]
        before, self.held = self.held, np.fmin(self.exact, limits)
        return np.asarray(self.held - before)[:, None, None]


def _phase(values: Array, tolerance: float = 0.0, step: float = 1.0) -> Weighed:
    scores = np.stack([student_scores(values, eased) for eased in (0.0, tolerance)])
    return Weighed(values, step, scores)


def _together(tolerance: float = 0.0, suspicion: NormalityPenalty = SUSPICION) -> Together:
    return Together(OFFSETS, tolerance, suspicion)


@given(
    seed=st.integers(0, 10_000),
    tolerance=st.floats(0, 2),
    hidden=st.floats(0, 10),
    fall=st.floats(0.1, 10),
)
def test_walks_are_never_above_the_sums_of_exact_scores(
    seed: int, tolerance: float, hidden: float, fall: float
) -> None:
    suspicion = NormalityPenalty(hidden, fall, 0.2, 0, True)
    rng, together = np.random.default_rng(seed), _together(tolerance, suspicion)
    exact, held = np.zeros(2), np.zeros(2)
    for _ in range(6):
        where = Cells(columns=np.array([rng.integers(2, 5)]))
        step, mean = float(rng.exponential()), float(rng.normal())
        phase = _phase(mean - rng.standard_gamma(0.3, (8, 1, 1)), tolerance, step)
        exact += np.sqrt(step) * phase.scores[:, 0, 0]
        held += together.add(where, phase)[:, 0, 0]
        assert (held <= exact + 1e-9).all()


def test_a_late_fall_counts_against_what_was_believed_before_it() -> None:
    rng, together = np.random.default_rng(1), _together()
    quiet = 1 + 0.1 * rng.standard_normal((8, 1, 1))
    before = together.add(Cells(), _phase(quiet))[0, 0, 0]
    fallen = quiet.copy()
    fallen[3] -= 20
    exact = student_scores(fallen, 0.0)[0, 0]
    assert before > 2
    assert together.add(Cells(), _phase(fallen))[0, 0, 0] < exact - 1  # some of `before` is gone


def test_what_was_lowered_comes_back_when_more_is_known() -> None:
    rng, together = np.random.default_rng(2), _together()
    together.add(Cells(), _phase(1 - np.array([0.0] * 7 + [3.0])[:, None, None]))
    exact, added = 0.0, 0.0
    for _ in range(40):
        phase = _phase(1 + 0.5 * rng.standard_normal((30, 1, 1)))
        exact += phase.scores[0, 0, 0]
        added += together.add(Cells(), phase)[0, 0, 0]
    assert added > 0.8 * exact


def test_normal_differences_lose_little() -> None:
    rng, share = np.random.default_rng(3), []
    for _ in range(200):
        together, exact, held = _together(), 0.0, 0.0
        for _ in range(6):
            phase = _phase(0.4 + rng.standard_normal((10, 1, 1)))
            exact += phase.scores[0, 0, 0]
            held += together.add(Cells(), phase)[0, 0, 0]
        share.append((exact, held))
    exact, held = np.mean(share, axis=0)
    assert 0.85 * exact < held < exact


@pytest.mark.parametrize("shape", [0.15, 0.5])
def test_skewed_ties_cross_less_often(shape: float) -> None:
    """Rare falls at a gap of zero, in phases of eight: how often a walk is ever above 2.5."""
    rng, crossed = np.random.default_rng(4), np.zeros(2)
    for _ in range(400):
        together, walks, ever = _together(), np.zeros(2), np.zeros(2, dtype=bool)
        for k in range(1, 9):
            values = (shape - rng.standard_gamma(shape, (8, 1, 1))) / np.sqrt(shape)
            phase = _phase(values)
            walks += [phase.scores[0, 0, 0], together.add(Cells(), phase)[0, 0, 0]]
            ever |= walks >= 2.5 * np.sqrt(k)
        crossed += ever
    assert crossed[1] < 0.6 * crossed[0]


def test_batches_that_are_all_alike_say_nothing() -> None:
    assert _together().add(Cells(), _phase(np.ones((6, 1, 1))))[0, 0, 0] == 0
    assert _together().add(Cells(), _phase(-np.ones((6, 1, 1))))[0, 0, 0] < -30


def test_columns_of_one_arm_make_one_walk() -> None:
    """Contrasts with different pairs of an arm may be noisy to different degrees."""
    rng, together, held = np.random.default_rng(5), _together(), 0.0
    for column, size in ((2, 1.0), (3, 100.0), (2, 1.0), (3, 100.0)):
        values = size * (1 + rng.standard_normal((20, 1, 1)))
        held += together.add(Cells(columns=np.array([column])), _phase(values))[0, 0, 0]
    assert held > 2 * np.sqrt(4) * np.sqrt(4)


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_the_size_of_rewards_does_not_matter(size: float) -> None:
    added = []
    for unit in (1.0, size):
        rng, together = np.random.default_rng(6), _together()
        for _ in range(3):
            values = unit * (1 - rng.standard_gamma(0.3, (8, 1, 1)))
            last = together.add(Cells(), _phase(values))
        added.append(last)
    np.testing.assert_allclose(added[0], added[1], rtol=1e-9)


def test_a_phase_that_measures_nothing_does_not_disarm_the_limit() -> None:
    held = []
    for blank in (False, True):
        rng, together = np.random.default_rng(7), _together()
        if blank:
            nothing = _phase(np.zeros((8, 1, 1)))._replace(measured=False)
            together.add(Cells(), nothing)
        phases = [_phase(1 - rng.standard_gamma(0.3, (8, 1, 1))) for _ in range(4)]
        held.append(sum(together.add(Cells(), phase)[0, 0, 0] for phase in phases))
        exact = sum(phase.scores[0, 0, 0] for phase in phases)
    assert held[1] - held[0] < 0.2 * (exact - held[0])


def test_a_clock_that_stands_still_says_nothing() -> None:
    added = _together().add(Cells(), _phase(1 + np.arange(6.0)[:, None, None], step=0.0))
    np.testing.assert_array_equal(added, 0.0)


WARY = SUSPICION._replace(pulls=60, shared=False)
CELLS = {  # challenger, place, column, arm: of three arms with 2, 3 and 2 pairs
    "first": (0, 0, 3, 1),
    "last": (2, 1, 0, 0),
    "middle": (1, 2, 6, 2),
}


class Compared(NamedTuple):
    """One pair of a challenger against one of another arm, and what all pulls say of the noise."""

    challenger: int
    place: int
    column: int
    arm: int

    @property
    def cells(self) -> Cells:
        return Cells(self.challenger, *(np.array([k]) for k in (self.place, self.column, self.arm)))

    def levels(self, own: float, rival: float, other: float = 0.0, pulls: int = 12) -> Levels:
        """Deviations of the two, and of another pair of the rival's arm."""
        offsets = np.array([0, 2, 5, 7])
        pairs = [offsets[self.challenger] + self.place, self.column]
        others = np.setdiff1d(np.arange(offsets[self.arm], offsets[self.arm + 1]), self.column)
        counts, means, scatter = np.zeros(7, dtype=np.int64), np.zeros(7), np.zeros(7)
        counts[[*pairs, others[0]]], means[pairs] = pulls, (1.0, 0.0)
        scatter[[*pairs, others[0]]] = (pulls - 1) * np.array([own, rival, other]) ** 2
        return Levels(counts, means, scatter)

    def held(
        self,
        values: Array,
        levels: Levels | None,
        suspicion: NormalityPenalty = WARY,
        lean: float = 1.0,
    ) -> float:
        together = Together(np.array([0, 2, 5, 7]), 0.0, suspicion)
        phase = _phase(values)._replace(lean=lean)
        return float(together.add(self.cells, phase, levels)[0, 0, 0])


@pytest.fixture(params=CELLS.values(), ids=CELLS)
def compared(request: pytest.FixtureRequest) -> Compared:
    return Compared(*request.param)


def _quiet(gap: float = 1.0, deviation: float = 0.1, n: int = 8) -> Array:
    return gap + deviation * np.random.default_rng(3).standard_normal((n, 1, 1))


@pytest.mark.parametrize("louder", [(2.0, 0.1), (0.1, 2.0)])
def test_a_fall_that_was_seen_elsewhere_counts_here(
    compared: Compared, louder: tuple[float, float]
) -> None:
    """Either pair's; and as much as if these batches had had the noise of their pairs."""
    alone, levels = compared.held(_quiet(), None), compared.levels(*louder)
    assert alone > 3
    assert compared.held(_quiet(), levels, SUSPICION) == alone
    held = compared.held(_quiet(), levels, WARY._replace(pulls=0))
    t = np.sqrt(8) * _quiet().mean() / np.hypot(*louder)
    assert held == pytest.approx(special.ndtri(special.stdtr(7, t)))


@pytest.mark.parametrize(("own", "rival"), [(8, 8), (48, 8), (8, 48)])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 0.05), (0.05, 1.0)])
def test_pairs_that_are_as_noisy_as_their_differences_change_little(
    own: int, rival: int, scales: tuple[float, float]
) -> None:
    """However unequal their noise and their pulls are."""
    rng, compared = np.random.default_rng(4), Compared(*CELLS["last"])
    suspicion, found = WARY._replace(pulls=0), []
    parts = np.array([8 / own, 8 / rival])
    layout, lean = parts.sum() / 2, 2 * parts[0] / parts.sum()
    deviation = np.sqrt((parts * np.square(scales)).sum() / layout)
    for _ in range(100):
        values = 0.5 + deviation * rng.standard_normal((8, 1, 1))
        seen = compared.levels(*(np.sqrt(rng.chisquare(11, 2) / 11) * scales))
        found.append((compared.held(values, seen, suspicion, lean), compared.held(values, None)))
    held, alone = np.transpose(found)
    assert (held <= alone).all()
    assert held.mean() > 0.95 * alone.mean()


@given(seed=st.integers(0, 10_000))
def test_levels_only_lower(seed: int) -> None:
    """Over phases, columns and both kinds of walks, wherever these are."""
    rng = np.random.default_rng(seed)
    wary, plain = (_together(0.3, suspicion) for suspicion in (WARY, SUSPICION))
    levels, held = Levels.unknown(5), np.zeros((2, 2))
    for index in range(6):
        pairs = np.repeat(np.arange(5), 3)
        rewards = rng.normal(size=15) * rng.choice([0, 0, 0.1, 5], 15)
        levels = levels.after(Outcome.from_rewards(index, 5, pairs, rewards))
        where = Cells(columns=np.array([rng.integers(2, 5)]))
        values = rng.normal() + rng.exponential() * rng.normal(size=(6, 1, 1))
        phase = _phase(values, 0.3, float(rng.exponential()))._replace(lean=rng.uniform(0, 2))
        held[0] += wary.add(where, phase, levels)[:, 0, 0]
        held[1] += plain.add(where, phase)[:, 0, 0]
        assert (held[0] <= held[1] + 1e-9).all()


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_levels_are_in_the_units_of_rewards(size: float) -> None:
    compared = Compared(*CELLS["middle"])
    for noise in ((2.0, 0.1), (0.0, 0.1)):
        alone = compared.held(_quiet(), compared.levels(*noise, other=1.0))
        levels = compared.levels(*(size * np.array(noise)), other=size)
        levels = levels._replace(means=size * levels.means)
        assert compared.held(size * _quiet(), levels) == pytest.approx(alone)


@pytest.mark.parametrize("silent", [(0.0, 0.01), (0.01, 0.0)], ids=["own", "rival"])
def test_a_pair_that_never_varied_may_still_fall(
    compared: Compared, silent: tuple[float, float]
) -> None:
    """As far as the noise of their arms makes likely: then few pulls say little, many enough."""

    def after(gap: float, n: int, pulls: int = 12, suspicion: NormalityPenalty = WARY) -> float:
        levels = compared.levels(*silent, other=1.0, pulls=pulls)
        levels = levels._replace(means=np.where(levels.means, gap, 0.0))
        return compared.held(_quiet(gap, 0.01, n), levels, suspicion)

    assert after(0.5, 8, suspicion=WARY._replace(pulls=0)) > 4
    assert after(0.5, 8) < 0.5
    assert after(0.5, 50, 50) > 3
    assert after(20.0, 8) > 2.5  # so far ahead that no such fall matters
    assert after(0.5, 8, pulls=60) > 4  # so many pulls that none is feared


def test_a_difference_that_never_varied_may_still_fall(compared: Compared) -> None:
    """Noise of shared streams cancelled in every batch: the same doubt as of a silent pair."""

    def after(gap: float, pulls: int, suspicion: NormalityPenalty = WARY) -> float:
        levels = compared.levels(1.0, 1.0, pulls=pulls)
        together = Together(np.array([0, 2, 5, 7]), 0.0, suspicion._replace(shared=True))
        values = np.full((8, 1, 1), gap)
        phase = Weighed(values, 1.0, np.stack([student_scores(values, 0.0, 1e-12)] * 2))
        return float(together.add(compared.cells, phase, levels)[0, 0, 0])

    assert after(0.5, 12, suspicion=WARY._replace(pulls=0)) > 6
    assert after(0.5, 12) < 1
    assert after(20.0, 12) > 2.5
    assert after(0.5, 60) > 6


def test_where_nothing_varies_no_fall_is_expected(compared: Compared) -> None:
    levels = compared.levels(0.0, 0.0)
    assert levels.silent.sum() == 3
    assert compared.held(_quiet(), levels) == compared.held(_quiet(), None)


@pytest.mark.filterwarnings("error")
def test_pairs_that_were_never_compared_may_have_any_noise() -> None:
    compared = Compared(*CELLS["last"])
    levels = compared.levels(0.1, 0.1, other=1e150)
    assert -2 < compared.held(_quiet(), levels) < 0  # where one is so noisy, others may fall far


@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-9, 1.0, 1e9]))
def test_phases_make_one_sample(seed: int, size: float) -> None:
    rng, levels = np.random.default_rng(seed), Levels.unknown(3)
    seen: list[list[float]] = [[], [], []]
    for index in range(5):
        pairs = rng.integers(0, 3, rng.integers(1, 8))
        rewards = size * (7 + rng.normal(size=len(pairs)))
        levels = levels.after(Outcome.from_rewards(index, 3, pairs, rewards))
        for pair, reward in zip(pairs, rewards, strict=True):
            seen[pair].append(reward)
    assert levels.counts.tolist() == [len(rewards) for rewards in seen]
    for pair, rewards in enumerate(seen):
        if len(rewards) > 1:
            assert levels.means[pair] == pytest.approx(np.mean(rewards))
            assert levels.deviations[pair] == pytest.approx(np.std(rewards, ddof=1), rel=1e-6)


def test_nothing_is_known_before_a_second_pull() -> None:
    one = Levels.unknown(2).after(Outcome.from_rewards(0, 2, [0], [3.0]))
    assert one.deviations.tolist() == [0.0, 0.0]
    assert not one.silent.any()


def test_a_fall_in_a_phase_of_one_pull_is_seen() -> None:
    levels = Levels.unknown(1)
    for index, reward in enumerate([1.0, 1.0, -5.0]):
        levels = levels.after(Outcome.from_rewards(index, 1, [0], [reward]))
    assert levels.deviations == pytest.approx([np.sqrt(12)])
    assert not levels.silent.any()


@pytest.mark.parametrize("reward", [0.0, 0.1, 1e9 / 3, -7e-9])
def test_a_pair_that_never_varies_is_silent_up_to_rounding(reward: float) -> None:
    levels = Levels.unknown(2)
    for index in range(50):
        varying = [reward + 1e-6 * abs(reward) * index, reward + 1e-6 * abs(reward)]
        rewards = [reward] * 7 + (varying if reward else [index, 1.0])
        outcome = Outcome.from_rewards(index, 2, [0] * 7 + [1] * 2, rewards)
        levels = levels.after(outcome)
    assert levels.silent.tolist() == [True, False]


def test_a_little_noise_on_large_rewards_is_none_the_less_noise() -> None:
    rewards = 1.7e9 + 1e-3 * np.random.default_rng(1).standard_normal(12)
    assert not Levels.unknown(1).after(Outcome.from_rewards(0, 1, [0] * 12, rewards)).silent[0]
    constant = Outcome.from_rewards(0, 1, [0] * 200_000, [0.1] * 200_000)
    assert Levels.unknown(1).after(constant).silent[0]


@pytest.mark.parametrize("skewness", [-6.0, -2.0, -0.3, 0.0, 0.5, 6.0])
@pytest.mark.parametrize("m", [3, 8, 30])
def test_the_correction_is_monotone_and_held_at_its_plateau(m: int, skewness: float) -> None:
    t, third = np.linspace(-40, 40, 2001), skewness / (3 * np.sqrt(m))
    found = _corrected(t, np.full(2001, third))
    assert (np.diff(found) >= -1e-9).all()
    if skewness < 0:
        flat = found[t > 1 / -third]
        assert np.ptp(flat) < 1e-9 if len(flat) else 1 / -third >= 39
        assert (found[t > 0] < t[t > 0]).all()


def test_a_fall_is_one_more_value() -> None:
    values = np.random.default_rng(0).normal(0.3, 1.0, 16)
    centre, spread, fall = values.mean(), values.std(ddof=1), 4.0
    more = np.append(values, centre - fall)
    expected = np.sqrt(17) * more.mean() / more.std(ddof=1)
    found = _after_a_fall(4 * centre / spread, np.array(16.0), fall / spread)
    assert found == pytest.approx(expected)


def test_differences_beyond_any_fall_seen_are_believed() -> None:
    """A plateau alone would hold back what not even a second fall could turn round."""
    third = np.array([-4.0 / (3 * 4)])
    for t, believed in ((4.0, False), (400.0, True)):
        assert _corrected(np.array([t]), third) < 3
        assert (_after_a_fall(np.array([t]), np.array(16.0), np.array(2.0 / 0.3)) > 7) == believed


@pytest.mark.parametrize(
    ("deviation", "pulls", "feared"),
    [(0.0, 59, True), (0.0, 60, False), (0.1, 29, True), (0.1, 31, False), (0.21, 2, False)],
)
def test_the_quieter_a_pair_the_more_pulls_of_it_are_asked(
    compared: Compared, deviation: float, pulls: int, feared: bool
) -> None:
    levels = compared.levels(deviation, 1.0, pulls=pulls)
    held, alone = (compared.held(_quiet(), levels, WARY._replace(pulls=n)) for n in (60, 0))
    assert (held < alone) == feared
