"""The constants of direct comparisons, with batches, streams and wagers: part of `Tuning`."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.algorithms.prime.constants import boundary, samples
from surefoot.doubt import Suspicion


@dataclass(frozen=True, kw_only=True)
class PairwiseTuning:
    """What decides plans where pairs are compared directly, or noise levels are unknown."""

    grid_growth: float = boundary(
        1.12, 1.01, 10, "factor from point to point at which the clocks of arms may stop"
    )
    grid_points: int = boundary(150, 1, 1000, "points at which the clocks of arms may stop")
    grid_middle: int = boundary(
        45, 0, 999, "point at which the least evidence is enough: where clocks should end"
    )
    grid_rise: float = boundary(
        1.0, 0, 10, "rise of the squared boundary away from the middle, for each factor e of time"
    )
    grid_spent: float = boundary(
        0.999, 0.5, 0.999, "share of δ that clocks spend by planned steps: smaller ones may add"
    )
    pilot_pulls: int = samples(3, 2, 10_000, "pulls of each of a guide's first pairs")
    pilot_sure: float = samples(
        0.7, 0, 1, "chance that the guessed leader is best, at which a pilot ends"
    )
    pilot_share: float = samples(0.1, 0.001, 10, "share by which each round extends a pilot")
    pilot_least: int = samples(4, 1, 10_000, "pulls of such a round at least")
    pilot_most: float = samples(4.0, 1, 1e6, "how many times its first pulls a pilot may have")
    pair_pulls: float = samples(6.0, 1, 10_000, "pulls of a compared pair in the first phases")
    pair_growth: float = samples(
        1.1, 1.001, 10, "factor by which pulls of compared pairs grow from phase to phase"
    )
    pair_horizons: int = samples(16, 2, 1000, "points in time at which direct finishing is seen")
    loyalty: float = samples(
        0.25, 0, 1, "share of the tolerance by which a leader may seem worse than another and stay"
    )
    own_doubt: float = samples(
        0.3, 0.001, 100, "standard errors of a pair's own mean that a guess is doubted by at least"
    )
    slight: float = samples(
        0.5, 0.001, 100, "gap for which a clock is set at least, in its own standard deviations"
    )
    least_gap: float = samples(
        0.15, 1e-6, 100, "gap that is planned for at least, in its own standard deviations"
    )
    least_share: float = samples(
        0.6, 0, 1, "pulls of a compared pair at least, in those of an even share"
    )
    least_hope: float = samples(
        0.1, 0.001, 1, "chance of a lead that a phase is weighed by at least"
    )
    draws: int = samples(200, 16, 10_000, "draws from a guess that say who may be best")
    guess_share: float = samples(
        0.8, 0, 1, "share of a budget that serves a guess alone; the rest is evidence as well"
    )
    streams_kept: int = samples(12, 1, 10_000, "phases that say whether shared streams pay")
    streams_pay: float = samples(
        0.95, 0, 1, "variance of differences at which they do, in that of independent streams"
    )
    streams_silent: int = samples(
        5, 2, 10_000, "batches without any difference that are taken for silence, not for chance"
    )
    least_own: float = samples(0.01, 1e-6, 1, "share of the variance that is never common to all")

    pooled_pulls: int = samples(3, 2, 10_000, "pulls of a pair at least, for one unknown level")
    score_least: int = samples(
        6, 2, 10_000, "batches of t statistics, and pulls of a pair, at least"
    )
    score_most: int = samples(30, 2, 10_000, "batches of t statistics at most")
    skew_pulls: float = samples(4.0, 0, 1e6, "pulls of a pair for each unit of squared skewness")
    skew_most: int = samples(400, 2, 10**9, "pulls of a pair that skewness asks for at most")
    skew_clear: float = samples(
        0.5, 0, 100, "standard errors of a skewness that are taken for chance"
    )
    skew_hidden: float = samples(
        5.0, 0, 1e6, "share of 1 / √n by which a skewness seen in n batches may be larger"
    )
    skew_fall: float = samples(
        4.0,
        0,
        1e6,
        "fall that may still come, in the largest seen, against which all phases are held together",
    )
    skew_chance: float = samples(
        0.0001,
        0,
        1,
        "chance below which comparisons are too quiet for the noise of their pairs, which then "
        "counts; 0: never",
    )
    silent_fall: float = samples(
        4.0,
        0,
        1e6,
        "fall that may still come where a pair never varied, in the largest standard deviation of "
        "the pairs in question",
    )
    silent_pulls: int = samples(
        60, 2, 10**9, "pulls of such a pair after which none is feared any more"
    )
    wealth_least: int = samples(4, 1, 10_000, "batches of a wager, and pulls of a pair, at least")
    wealth_most: int = samples(2000, 1, 10**9, "batches of a wager at most")

    wealth_aim: float = samples(
        0.7, 0, 1, "share of the tolerance that stakes count on; without any, some runs never end"
    )

    @property
    def suspicion(self) -> Suspicion:
        return Suspicion(
            clear=self.skew_clear,
            hidden=self.skew_hidden,
            fall=self.skew_fall,
            chance=self.skew_chance,
            silent=self.silent_fall,
            silence=self.silent_pulls,
        )
