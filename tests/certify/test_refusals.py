"""The kernel refuses what would make a certificate wrong, and nothing that was fixed can change."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.certify import (
    BatchScores,
    Boundary,
    Certifier,
    Claims,
    EqualScores,
    GaussianBoundary,
    MixtureBoundary,
    Question,
    Rows,
    ScaleScores,
    Scores,
    Stakes,
    SubGaussianScores,
    WealthBoundary,
    WealthScores,
)
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase

DELTA = 0.05
THREE = [0, 1, 2, 3]  # offsets of three arms, a pair each
OFFSETS = np.array([0, 1, 3])  # arm 0 has one pair, arm 1 has two
ONCE = np.ones(3, dtype=np.int64)
LEVEL = 1.6448537**2  # of one look that spends DELTA


def gaussian(n_points: int = 1, a: Array | float = LEVEL) -> GaussianBoundary:
    """Return a boundary on 1, 2, …; valid for DELTA with one point."""
    return GaussianBoundary(np.arange(1.0, n_points + 1), np.zeros(n_points), a)


def mixture(times: Array, rate: float = 1.0, share: float = 1.0) -> MixtureBoundary:
    """Return the boundary of a martingale with one rate."""
    return MixtureBoundary(times, np.array([rate]), np.array([share]), DELTA)


def question(misfit: float = np.inf, offsets: Any = OFFSETS) -> Question:
    """Return three pairs that are compared as they are."""
    return Question.worst_case(np.array(offsets), np.eye(3), misfit)


def weighed(last: float) -> Question:
    """Return three pairs, the last of them with a weight."""
    points = Rows(np.arange(4), np.arange(3), np.array([1.0, 1.0, last]))
    return Question(OFFSETS, points, np.eye(3), np.inf)


def columns(*pairs: float) -> Question:
    """Return three points, each a pair."""
    return Question(OFFSETS, Rows(np.arange(4), np.array(pairs), np.ones(3)), np.eye(3), np.inf)


def mixtures(share: float, misfit: float = np.inf, points: Rows | None = None) -> Question:
    """Return arms that are the least of mixtures, with this share of each pair of arm 1."""
    most = np.array([1.0, share, share])
    return Question(OFFSETS, points or question().points, np.eye(3), misfit, most)


def certifier(
    scores: type[Scores] = ScaleScores, boundary: Boundary | None = None, **changes: Any
) -> Certifier:
    """Return a certifier of three pairs."""
    given: dict[str, Any] = {"question": question(), "delta": DELTA, **changes}
    asked, scales = given.pop("question"), given.pop("scales", np.full(3, 0.5))
    return Certifier(asked, scores(scales), gaussian() if boundary is None else boundary, **given)


def wealth(**changes: Any) -> Certifier:
    """Return a certifier of rewards between 0 and 1."""
    return certifier(WealthScores, WealthBoundary(DELTA), **changes)


def shares(*values: float) -> Rows:
    """Return one row, over the points of arm 1 from its first."""
    n = len(values)
    return Rows(np.array([0, n]), np.arange(1, n + 1), np.array(values, dtype=np.float64))


def row(point: int) -> Rows:
    """Return one row, of one point."""
    return Rows(np.array([0, 1]), np.array([point]), np.ones(1))


def claims(**changes: Any) -> Claims:
    """Return the claim that arm 0 beats arm 1, at the first point of the grid."""
    plain = Claims(0, np.array([0]), np.array([1]), np.array([0]), shares(1.0), np.array(0.0), None)
    return plain._replace(**changes)


def one_by_one(**changes: Any) -> list[Claims]:
    """Return the claims that arm 0 of three beats arm 1, and arm 2."""
    return [claims(arms=np.array([arm]), shares=row(arm), **changes) for arm in (1, 2)]


def stakes(mean: float = 0.3, variance: float = 0.1, n: int = 1, aim: float = 0.0) -> Stakes:
    """Return guesses for n claims of one point."""
    return Stakes(np.full((1, n), mean), np.full((1, n), 0.1), np.full((1, n), variance), aim)


def outcome(phase: Phase, rewards: Array, batches: int | None = None) -> Outcome:
    """Return what equal rewards of each pair come to."""
    number = phase.batches if batches is None else batches
    batch_sums = np.tile(phase.counts // max(number, 1) * rewards, (number, 1))
    return Outcome(phase.index, phase.counts, phase.counts * rewards, np.zeros(3), batch_sums)


BOUNDARIES: dict[str, Callable[[], Boundary]] = {
    "more than delta": lambda: gaussian(2),
    "a level below 0": lambda: gaussian(1, -1.0),
    "a level that is NaN": lambda: gaussian(1, math.nan),
    "late clocks that cross too often": lambda: gaussian(3, np.array([9.0, 9.0, 2.0])),
    "late clocks below 0": lambda: gaussian(3, np.array([9.0, 9.0, -1.0])),
    "late clocks without a level": lambda: gaussian(3, np.array([9.0, math.nan, math.nan])),
    "no times": lambda: gaussian(0),
    "times from 0": lambda: GaussianBoundary(np.array([0.0]), np.zeros(1), 9.0),
    "times that stand": lambda: GaussianBoundary(np.ones(2), np.zeros(2), 9.0),
    "an infinite time": lambda: GaussianBoundary(np.array([1.0, np.inf]), np.zeros(2), 9.0),
    "mixture: times from 0": lambda: mixture(np.array([0.0, 1.0])),
    "mixture: times that fall": lambda: mixture(np.array([2.0, 1.0])),
    "mixture: a rate of 0": lambda: mixture(np.ones(1), rate=0.0),
    "mixture: one rate of 0": lambda: MixtureBoundary(
        np.ones(1), np.array([1.0, 0.0]), np.full(2, 0.5), DELTA
    ),
    "mixture: a rate that is NaN": lambda: mixture(np.ones(1), rate=math.nan),
    "mixture: an infinite time": lambda: mixture(np.array([1.0, np.inf])),
    "mixture: one share below 0": lambda: MixtureBoundary(
        np.ones(1), np.array([1.0, 2.0]), np.array([1.2, -0.2]), DELTA
    ),
    "mixture: shares above 1": lambda: mixture(np.ones(1), share=1.1),
    "mixture: a share that is NaN": lambda: mixture(np.ones(1), share=math.nan),
}


@pytest.mark.parametrize("name", BOUNDARIES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_boundaries_that_are_not_valid_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        certifier(boundary=BOUNDARIES[name]())


POINTS = Rows(np.array([0, 2, 3, 4]), np.array([0, 0, 1, 2]), np.array([0.5, 0.5, 1.0, 1.0]))
SPOILT = Rows(np.arange(4), np.arange(3), np.array([1.0, 1.0, np.nan]))
NEGATIVE = Rows(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 2]), np.array([2.0, -1.0, 1.0, 1.0]))
BEGINNINGS: dict[str, Callable[[], object]] = {
    "delta NaN": lambda: certifier(delta=math.nan),
    "delta 0": lambda: certifier(delta=0.0),
    "delta 1": lambda: certifier(delta=1.0),
    "delta below the boundary's": lambda: certifier(delta=0.01),
    "delta below the mixture's": lambda: certifier(boundary=mixture(np.ones(1)), delta=0.01),
    "delta below the wealth's": lambda: wealth(delta=0.01),
    "tolerance NaN": lambda: certifier(tolerance=math.nan),
    "tolerance below 0": lambda: certifier(tolerance=-0.1),
    "tolerance without end": lambda: certifier(tolerance=math.inf),
    "misfit below 0": lambda: question(-1.0),
    "misfit NaN": lambda: question(math.nan),
    "an arm without points": lambda: question(offsets=[0, 0, 3]),
    "features that are NaN": lambda: Question.worst_case(OFFSETS, np.full((3, 1), np.nan), 0.0),
    "a model of features that are 0": lambda: Question.worst_case(OFFSETS, np.zeros((3, 1)), 0.1),
    "a pair twice in a point": lambda: Question(OFFSETS, POINTS, np.eye(3), np.inf),
    "a pair below 0": lambda: columns(0, 1, -1),
    "an unknown pair": lambda: columns(0, 1, 3),
    "a pair that is half a number": lambda: columns(0, 1, 1.5),
    "points that do not begin at 0": lambda: Question(
        OFFSETS, Rows(np.arange(1, 5), np.arange(3), np.ones(3)), np.eye(3), np.inf
    ),
    "points without weights": lambda: Question(
        OFFSETS, Rows(np.arange(4), np.arange(3), np.ones(2)), np.eye(3), np.inf
    ),
    "a point of no arm": lambda: question(offsets=[1, 2, 3]),
    "scales of one pair": lambda: certifier(scales=np.ones(1)),
    "a weight that is NaN": lambda: Question(OFFSETS, SPOILT, np.eye(3), 0.0),
    "a negative weight, no model": lambda: Question(OFFSETS, NEGATIVE, np.eye(3), np.inf),
    "bets on a grid": lambda: certifier(WealthScores),
    "walks without a grid": lambda: certifier(boundary=WealthBoundary(DELTA)),
    "bets on a model": lambda: wealth(question=question(0.0)),
    "bets on more than a mean": lambda: wealth(question=weighed(2.0)),
    "bets on less than a mean": lambda: wealth(question=weighed(0.5)),
    "a scale of 0": lambda: certifier(scales=np.array([1.0, 0.0, 1.0])),
    "a scale that is NaN": lambda: certifier(scales=np.array([1.0, np.nan, 1.0])),
    "an infinite scale": lambda: certifier(scales=np.array([1.0, np.inf, 1.0])),
    "a scale whose square is 0": lambda: certifier(scales=np.array([1.0, 1e-200, 1.0])),
    "a scale whose square is infinite": lambda: certifier(scales=np.array([1.0, 1e200, 1.0])),
    "sub-Gaussian walks against levels for normal ones": lambda: certifier(SubGaussianScores),
    "sub-Gaussian walks without a grid": lambda: certifier(
        SubGaussianScores, WealthBoundary(DELTA)
    ),
    "mixtures with a model": lambda: mixtures(0.7, misfit=0.0),
    "mixtures of means": lambda: mixtures(0.7, points=weighed(1.5).points),
    "mixtures of a pair that two arms have": lambda: mixtures(0.7, points=columns(0, 1, 1).points),
    "mixtures with none of a pair": lambda: mixtures(0.0),
    "mixtures with more than all of a pair": lambda: mixtures(1.1),
    "mixtures with NaN of a pair": lambda: mixtures(math.nan),
    "mixtures that do not add up to 1": lambda: mixtures(0.4),
    "mixtures of two pairs": lambda: replace(mixtures(0.7), most=np.ones(2)),
    "mixtures that t statistics compare": lambda: certifier(EqualScores, question=mixtures(0.7)),
    "mixtures that bets compare": lambda: wealth(question=mixtures(0.7)),
    "bets against a mixture": lambda: certifier(WealthScores, mixture(np.ones(1))),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_questions_and_promises_that_mean_nothing_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        BEGINNINGS[name]()


# arm 1 challenges arm 0, by both of its points
BACK = {"challenger": 1, "points": np.array([1, 2]), "arms": np.array([0]), "shares": row(0)}
CLAIMS: dict[str, dict[str, Any]] = {
    "an arm against itself": {"challenger": 1, "points": np.array([1])},
    "an unknown challenger": {"challenger": 2},
    "a challenger below 0": {"challenger": -1},
    "an unknown arm": {"arms": np.array([2])},
    "an arm below 0": {"arms": np.array([-1])},
    "an arm twice": {
        "arms": np.array([1, 1]),
        "clocks": np.array([0, 0]),
        "shares": Rows(np.arange(3), np.array([1, 1]), np.ones(2)),
    },
    "no point": {"points": np.zeros(0, dtype=np.int64)},
    "points of another arm": {"points": np.array([1])},
    "a point twice": {"points": np.array([0, 0])},
    "a clock below 0": {"clocks": np.array([-1])},
    "a clock beyond the grid": {"clocks": np.array([1])},
    "two clocks for one arm": {"clocks": np.array([0, 0])},
    "shares that add up to 2": {"shares": shares(1.0, 1.0)},
    "shares that add up to a half": {"shares": shares(0.5)},
    "a share below 0": {"shares": shares(1.5, -0.5)},
    "a share that is NaN": {"shares": shares(math.nan)},
    "shares of the challenger": {"shares": row(0)},
    "shares of the next arm": {**BACK, "points": np.array([1]), "shares": shares(1.0)},
    "too few rows of shares": {"shares": Rows(np.array([0]), np.zeros(0, np.int64), np.zeros(0))},
    "clocks that are truth values": {"clocks": np.array([False])},
    "a clock between two points": {"clocks": np.array([0.5])},
    "arms that are truth values": {"arms": np.array([True])},
    "points in two dimensions": {"points": np.array([[0, 0]])},
    "shares that do not begin at 0": {"shares": Rows(np.array([5, 6]), np.array([1]), np.ones(1))},
    "shares of a point below 0": {"shares": row(-1)},
    "shares of an unknown point": {"shares": row(3)},
    "shares that end too early": {"shares": Rows(np.array([0, 1]), np.array([1, 2]), np.ones(2))},
    "a share too few": {"shares": Rows(np.array([0, 2]), np.array([1, 2]), np.ones(1))},
    "a deviation below 0": {"deviation": np.array(-1.0)},
    "one deviation below 0": {**BACK, "deviation": np.array([[0.1], [-0.1]])},
    "a deviation that is NaN": {"deviation": np.array(math.nan)},
    "too many deviations": {"deviation": np.zeros((1, 2))},
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_that_cannot_be_held_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        certifier().commit(Phase(0, ONCE), [claims(**CLAIMS[name])])


@pytest.mark.parametrize(("arm", "third"), [(1, 2), (2, 1)])
def test_shares_of_a_third_arm_are_refused(arm: int, third: int) -> None:
    """It has no pair in common with the challenger, for which it would be refused anyhow."""
    one = certifier(question=question(offsets=THREE))
    with pytest.raises(InputError):
        one.commit(Phase(0, ONCE), [claims(arms=np.array([arm]), shares=row(third))])


MIXED: dict[str, dict[str, Any]] = {
    "a point with more than it may have": {"shares": shares(0.2, 0.8)},
    "a point alone": {"shares": shares(1.0)},
    "some points of the challenger": {**BACK, "points": np.array([1])},
    "a mixture for each of its points": {
        **BACK,
        "shares": Rows(np.arange(3), np.zeros(2, np.int64), np.ones(2)),
    },
}


@pytest.mark.parametrize("name", MIXED)
def test_claims_that_the_least_mixture_may_not_keep_are_refused(name: str) -> None:
    one = certifier(question=mixtures(0.7))
    with pytest.raises(InputError, match="mixtures take claims of all points"):
        one.commit(Phase(0, ONCE), [claims(**MIXED[name])])
    one.commit(Phase(0, ONCE), [claims(shares=shares(0.3, 0.7))])


HALF: Any = np.array([1.0, 0.5, 1.0])
COMMITMENTS: dict[str, tuple[Certifier, Phase, Claims, Array | None]] = {
    **{
        f"stakes: {name}": (wealth(), Phase(0, 4 * ONCE, 2), claims(stakes=each), None)
        for name, each in {
            "none": None,
            "a mean that is NaN": stakes(mean=math.nan),
            "an infinite mean": stakes(mean=math.inf),
            "a variance below 0": stakes(variance=-0.1),
            "an aim that is NaN": stakes(aim=math.nan),
            "guesses for two claims": stakes(n=2),
        }.items()
    },
    **{
        f"wealth at clock {clock}": (
            wealth(),
            Phase(0, ONCE, 1),
            claims(clocks=np.array([clock]), stakes=stakes()),
            None,
        )
        for clock in (-1, 1)
    },
    **{
        f"variances: {name}": (certifier(BatchScores), Phase(0, 4 * ONCE, 4), claims(), each)
        for name, each in {
            "none": None,
            "of 0": np.array([1.0, 0.0, 1.0]),
            "NaN": np.array([1.0, np.nan, 1.0]),
            "infinite": np.array([1.0, np.inf, 1.0]),
            "of two pairs": np.ones(2),
        }.items()
    },
    **{
        f"a phase with {name}": (certifier(scores), phase, claims(), np.ones(3))
        for name, scores, phase in (
            ("counts below 0", ScaleScores, Phase(0, np.array([1, -1, 1]))),
            ("half a pull", ScaleScores, Phase(0, HALF)),
            ("another number than the next", ScaleScores, Phase(1, ONCE)),
            ("counts of two pairs", ScaleScores, Phase(0, np.ones(2, dtype=np.int64))),
            ("shared streams, no batches", ScaleScores, Phase(0, ONCE, 0, shared=True)),
            ("one scale, shared streams", EqualScores, Phase(0, ONCE, 0, shared=True)),
            ("one batch", BatchScores, Phase(0, 4 * ONCE, 1)),
        )
    },
}


@pytest.mark.parametrize("name", COMMITMENTS)
def test_commitments_that_do_not_suit_the_noise_are_refused(name: str) -> None:
    kernel, phase, claim, variances = COMMITMENTS[name]
    with pytest.raises(InputError):
        kernel.commit(phase, [claim], variances)


@pytest.mark.parametrize("part", ["means", "doubts", "variances"])
def test_one_stake_that_is_no_guess_is_refused(part: str) -> None:
    """One of the guesses is wrong, the other is right."""
    three = wealth(question=question(offsets=THREE))
    both = stakes(n=2)
    wrong = getattr(both, part) * [1.0, -1.0 if part == "variances" else math.nan]
    rows = Rows(np.arange(3), np.array([1, 2]), np.ones(2))
    two = claims(arms=np.array([1, 2]), clocks=np.zeros(2, dtype=np.int64), shares=rows)
    three.commit(Phase(0, 4 * ONCE, 2), [two._replace(stakes=both)])
    with pytest.raises(InputError):
        three.commit(Phase(1, 4 * ONCE, 2), [two._replace(stakes=both._replace(**{part: wrong}))])


@pytest.mark.parametrize("misfit", [0.3, np.inf])
def test_an_exact_model_leaves_no_deviation(misfit: float) -> None:
    """A contrast other than the fit's is not independent of the fit's residuals."""
    exact, claim = (
        certifier(EqualScores, question=question(0.0)),
        claims(deviation=np.array(misfit)),
    )
    with pytest.raises(InputError):
        exact.commit(Phase(0, ONCE), [claim])
    one_of_two = claims(**BACK, deviation=np.array([[0.0], [misfit]]))
    with pytest.raises(InputError):
        exact.commit(Phase(0, ONCE), [one_of_two])
    certifier(EqualScores, question=question(0.1)).commit(Phase(0, ONCE), [claim])


def test_a_phase_is_committed_once() -> None:
    """Its streams follow from its number: two of one number would share their rewards."""
    two = certifier(boundary=gaussian(2, 6.0))
    two.commit(Phase(0, ONCE), [claims()])
    with pytest.raises(InputError):
        two.commit(Phase(0, ONCE), [claims(clocks=np.array([1]))])


def test_without_a_model_arms_share_no_pair() -> None:
    """The variance of their difference would be another, and its t no t."""
    points = Rows(np.array([0, 2, 3, 5]), np.array([0, 1, 1, 1, 2]), np.full(5, 0.5))
    for misfit in (np.inf, 0.1):
        one = certifier(question=Question(OFFSETS, points, np.eye(3), misfit))
        if misfit == np.inf:
            with pytest.raises(InputError, match="in common"):
                one.commit(Phase(0, ONCE), [claims()])
        else:
            one.commit(Phase(0, ONCE), [claims()])


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e200])
def test_features_of_any_unit_count(unit: float) -> None:
    """The squares of such numbers are 0 or infinite: the model would lose a parameter."""
    features = np.array([[1.0, 0.0], [1.0, unit], [1.0, 2 * unit]])
    assert Question.worst_case(OFFSETS, features, 0.0).basis.shape == (3, 2)


def test_clocks_go_on_from_what_was_promised() -> None:
    two = certifier(boundary=gaussian(2, 6.0))
    two.commit(Phase(0, ONCE), [claims(clocks=np.array([1]))])
    with pytest.raises(InputError):
        two.commit(Phase(1, ONCE), [claims()])


def test_refused_claims_promise_nothing() -> None:
    two = certifier(boundary=gaussian(2, 6.0))
    with pytest.raises(InputError):
        two.commit(Phase(0, ONCE), [claims(), claims()])
    phase = Phase(0, ONCE)
    two.update(two.commit(phase, [claims()]), outcome(phase, np.zeros(3)))


def test_phases_are_scored_in_their_order() -> None:
    one, phase = certifier(), Phase(0, ONCE)
    first, second = one.commit(phase), one.commit(Phase(1, ONCE))
    with pytest.raises(InputError):
        one.update(second, outcome(phase, np.zeros(3)))
    one.update(first, outcome(phase, np.zeros(3)))
    with pytest.raises(InputError):
        one.update(first, outcome(phase, np.zeros(3)))


def _wrong_outcomes(phase: Phase) -> dict[str, Outcome]:
    right, spoilt = outcome(phase, np.zeros(3)), np.array([np.nan, 0.0, 0.0])
    shape = (phase.batches, 3)
    return {
        "of another phase": outcome(Phase(1, phase.counts, phase.batches), np.zeros(3)),
        "other counts": outcome(Phase(0, phase.counts + 1, phase.batches), np.zeros(3)),
        "sums that are NaN": Outcome(0, phase.counts, spoilt, np.zeros(3), right.batch_sums),
        "infinite sums": Outcome(0, phase.counts, spoilt + np.inf, np.zeros(3), right.batch_sums),
        "scatter that is NaN": Outcome(0, phase.counts, np.zeros(3), spoilt, right.batch_sums),
        "batches that are NaN": Outcome(
            0, phase.counts, np.zeros(3), np.zeros(3), np.full(shape, np.nan)
        ),
        "fewer batches": outcome(phase, np.zeros(3), phase.batches // 2),
        "no batches": outcome(phase, np.zeros(3), 0),
    }


@pytest.mark.parametrize("name", _wrong_outcomes(Phase(0, 4 * ONCE, 4)))
def test_a_wrong_outcome_is_refused_and_the_right_one_still_counts(name: str) -> None:
    one, phase = certifier(BatchScores), Phase(0, 4 * ONCE, 4)
    commitment = one.commit(phase, [claims()], np.ones(3))
    with pytest.raises(InputError):
        one.update(commitment, _wrong_outcomes(phase)[name])
    assert (one.walks.places == -1).all()
    one.update(commitment, outcome(phase, np.zeros(3)))
    assert one.walks.places.tolist() == [-1, 0]


def test_noise_without_batches_needs_none_of_them() -> None:
    one, phase = certifier(), Phase(0, 4 * ONCE, 4)
    one.update(one.commit(phase, [claims()]), outcome(phase, np.zeros(3), 0))
    assert one.walks.places.tolist() == [-1, 0]


@pytest.mark.parametrize("empty", [True, False])
def test_claims_of_which_nothing_is_measured_leave_the_wealth_alone(empty: bool) -> None:
    one = wealth(tolerance=0.2)
    counts = 100 * ONCE if empty else np.array([100, 0, 100])
    phase, row = Phase(0, counts, 50), shares() if empty else shares(1.0)
    idle = claims(shares=row, stakes=stakes())
    one.update(one.commit(phase, [idle]), outcome(phase, np.full(3, 0.5)))
    assert one.walks.walk(eased=0).tolist() == [0.0, 0.0]
    assert one.answer() is None


@pytest.mark.parametrize("limit", [1e9, np.inf, np.nan, 0.0])
def test_limits_never_raise_a_sum(limit: float) -> None:
    one, phase = certifier(), Phase(0, ONCE)
    won = outcome(phase, np.array([0.5, 0.0, 0.0]))
    one.update(one.commit(phase, [claims()]), won, lambda *_: np.full((1, 1, 1), limit))
    assert one.walks.walk()[1] == pytest.approx(0.0 if limit == 0 else math.sqrt(0.5))
    assert one.survivors.all()


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 1, 1), (1, 1, 2)])
def test_limits_of_other_sums_are_refused_and_the_phase_still_counts_once(
    shape: tuple[int, ...],
) -> None:
    one, phase = wealth(question=question(offsets=THREE)), Phase(0, 20 * ONCE, 10)
    both, won = one_by_one(stakes=stakes()), outcome(phase, np.array([0.7, 0.3, 0.3]))
    commitment = one.commit(phase, both)
    for wrong in (1, 2):
        with pytest.raises(InputError, match="limits of shape"):
            one.update(
                commitment,
                won,
                lambda tested, *_, arm=wrong: np.ones(shape) if tested.arms[0] == arm else None,
            )
    assert not one.walks.walk().any()
    one.update(commitment, won)
    plain = wealth(question=question(offsets=THREE))
    plain.update(plain.commit(phase, both), won)
    assert one.walks.walk().tolist() == plain.walks.walk().tolist()


def test_a_rule_that_has_a_phase_counted_meanwhile_does_not_count_it_twice() -> None:
    one, plain, phase = wealth(), wealth(), Phase(0, 20 * ONCE, 10)
    commitment, won = (
        one.commit(phase, [claims(stakes=stakes())]),
        outcome(phase, np.array([0.7, 0.3, 0.3])),
    )
    plain.update(plain.commit(phase, [claims(stakes=stakes())]), won)

    def count(*_: Any) -> None:
        one.update(commitment, won)

    with pytest.raises(InputError, match="in the order"):
        one.update(commitment, won, count)
    assert one.walks.walk().tolist() == plain.walks.walk().tolist()


def test_a_rule_that_writes_into_the_rewards_changes_nothing() -> None:
    one, phase = certifier(question=question(offsets=THREE)), Phase(0, ONCE)
    commitment, told = one.commit(phase, one_by_one()), outcome(phase, np.zeros(3))

    def write(*_: Any) -> None:
        told.sums[0] = 50.0

    one.update(commitment, told, write)
    assert not one.walks.walk().any()


@pytest.mark.parametrize("place", [1, 2, 3])
def test_what_a_rule_that_lowers_writes_into_what_it_is_shown_counts_for_nothing(
    place: int,
) -> None:
    one, phase = certifier(), Phase(0, ONCE)

    def write(*shown: Any) -> None:
        target = shown[place].values if place == 2 else shown[place]
        target[...] = 1e3

    one.update(one.commit(phase, [claims()]), outcome(phase, np.zeros(3)), write)
    assert one.walks.walk().tolist() == [0.0, 0.0]
    assert one.survivors.all()


def test_what_was_committed_cannot_change() -> None:
    one, claim, guess = certifier(BatchScores), claims(), np.ones(3)
    phase = Phase(0, 4 * ONCE, 4)
    commitment = one.commit(phase, [claim], guess)
    claim.shares.columns[:], claim.clocks[:], guess[:] = 2, 7, 9.0
    phase.counts[:] = 8
    held = commitment.claims[0]
    assert (held.shares.columns.tolist(), held.clocks.tolist()) == ([1], [0])
    assert commitment.phase.counts.tolist() == [4, 4, 4]
    held.shares.columns[:], held.arms[:], commitment.phase.counts[:] = 0, 0, 8
    one.update(commitment, outcome(Phase(0, 4 * ONCE, 4), np.array([0.0, 1.0, 0.0])))
    assert one.walks.walk()[0] == 0.0
    assert one.walks.walk()[1] < 0.0


def test_the_question_and_the_scales_cannot_change() -> None:
    features, scales, offsets = np.eye(3), np.full(3, 0.5), OFFSETS.copy()
    points = Rows(np.arange(4), np.arange(3), np.ones(3))
    asked = Question(offsets, points, features, np.inf)
    one, phase = certifier(question=asked, scales=scales), Phase(0, ONCE)
    commitment = one.commit(phase, [claims()])
    features[:], scales[:], offsets[:], points.columns[:], points.values[:] = 0, 1e-3, 0, 0, 9.0
    for kept in (asked.offsets, asked.features, *asked.points, one.scores.scales):
        with pytest.raises(ValueError, match="read-only"):
            kept[:] = 0
    one.update(commitment, outcome(phase, np.array([0.5, 0.0, 0.0])))
    assert one.walks.walk()[1] == pytest.approx(math.sqrt(0.5))
    one.survivors[:] = False
    assert one.survivors.all()


def test_stakes_are_kept_as_they_were_committed() -> None:
    one, guesses, phase = wealth(), stakes(), Phase(0, 4 * ONCE, 2)
    commitment = one.commit(phase, [claims(stakes=guesses)])
    guesses.means[:] = 5.0
    assert commitment.claims[0].stakes is not None
    assert commitment.claims[0].stakes.means.tolist() == [[0.3]]


def test_shares_are_scaled_to_one() -> None:
    one, phase = certifier(), Phase(0, ONCE)
    far = outcome(phase, np.full(3, 1e6))
    one.update(one.commit(phase, [claims(shares=shares(1 - 9e-6))]), far)
    assert one.walks.walk()[1] == pytest.approx(0.0, abs=1e-6)


def test_a_phase_counts_once_though_a_rule_failed_midway() -> None:
    one, phase = wealth(question=question(offsets=THREE)), Phase(0, 20 * ONCE, 10)
    both, won = one_by_one(stakes=stakes()), outcome(phase, np.array([0.7, 0.3, 0.3]))
    commitment = one.commit(phase, both)

    def fail(tested: Claims, *_: Any) -> None:
        if tested.arms[0] == 2:
            raise KeyError

    with pytest.raises(KeyError):
        one.update(commitment, won, fail)
    one.update(commitment, won)
    walk = one.walks.walk()
    assert walk[1] == pytest.approx(walk[2])
