"""PRIME's constants: they decide its plans, and no proof needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from surefoot.algorithms.prime.constants import (
    Effort,
    Foresight,
    boundary,
    samples,
    suitable,
)
from surefoot.algorithms.prime.pairwise import PairwiseTuning
from surefoot.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Tuning(PairwiseTuning):
    """What decides PRIME's plans. Each field's metadata says what it means and what it affects.

    Numerical tolerances are not here: they stand where they are used.
    """

    looks: int = boundary(60, 1, 1000, "looks after which the boundary rises: few runs get so far")
    growth: float = boundary(
        1.12, 1.01, 10, "factor by which all data grow from look to look, once phases are large"
    )
    rise: float = boundary(0.25, 0, 100, "units by which each of the first phases exceeds the last")
    large: float = boundary(2.0, 1, 1000, "units up to which the first phases rise")
    trust: float = boundary(
        12.0,
        0.01,
        1e6,
        "units of data before which phases count less: rivals are chosen from little",
    )
    strict: float = boundary(
        4.0, 0, 1e6, "units before which looks have a higher boundary: few runs end there"
    )
    strictness: float = boundary(
        2.0, 0, 100, "added to c² for each factor e by which a look comes before `strict`"
    )
    steepness: float = boundary(
        3.0, 0, 100, "added to c² for each factor e by which a look comes after the first `looks`"
    )

    closing: float = boundary(
        1.0,
        0,
        1e6,
        "with a tolerance and a known scale, looks end once that gap was pulled for this many "
        "times as long as the G-optimal design needs for it",
    )
    closing_margin: float = boundary(
        2.0, 0, 1e6, "by how much c² is then taken to exceed twice the logarithm of 1/δ"
    )

    unit_per_dimension: int = samples(4, 1, 10_000, "pulls of a unit for each dimension")
    least_replicates: int = samples(
        12, 0, 10_000, "pulls of a unit beyond the dimension at least, to check the model with"
    )
    pilot_per_dimension: int = samples(2, 1, 10_000, "pulls of the pilot for each dimension")
    spread_tolerance: float = samples(
        0.02, 1e-6, 1, "accuracy of the G-optimal design, which only explores"
    )
    least_noise: float = samples(
        1e-6, 0, 1, "noise that is planned for at least, as a share of the largest mean"
    )
    least_freedom: int = samples(
        10, 1, 10_000, "residual degrees of freedom of a phase when the noise scale is unknown"
    )

    most_rivals: int = samples(
        40, 1, 10_000, "rivals that a design looks at: the most pressing; others settle on the way"
    )
    hope: float = samples(
        0.6, 1e-6, 1 - 1e-6, "probability of finishing up to which a design looks ahead"
    )
    horizons: int = samples(24, 2, 1000, "points in time at which that probability is formed")
    furthest: float = samples(1000.0, 1, 1e9, "how many times the data so far the last of them is")
    doubt: float = samples(0.3, 0, 100, "share of the gaps' own uncertainty that counts")
    sizes: tuple[float, ...] = samples(
        (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5),
        0.01,
        100,
        "sizes that a phase may have, in planned sizes",
    )
    patience: float = samples(0.7, 0, 1000, "cost of another phase, in planned phases")
    feeble: float = samples(
        0.2, 0, 1, "chance of finishing up to which a phase keeps its planned size"
    )
    curiosity: float = samples(
        3.0, 0, 1e6, "hope that makes a rival's pair worth a try, in the square of its gap"
    )

    exploration: float = samples(0.02, 0, 1, "share of the pulls that explore")
    explored: float = samples(30.0, 1e-6, 1e9, "units of data after which that share falls")
    checks: int = samples(2, 0, 10_000, "pulls of a phase that explore at least")
    exchanges: int = samples(6, 0, 10_000, "pulls that are moved after rounding, at most")
    worthwhile: float = samples(
        1.5, 1, 1e6, "how many times more a pull has to be worth elsewhere to be moved"
    )

    design_tolerance: float = samples(
        0.01, 1e-9, 1, "share of pulls that a design may need more than the best one"
    )
    rounds: int = samples(3, 0, 1000, "working sets of pairs that the search for a design tries")
    in_use: float = samples(
        0.02, 0, 1, "share of the largest weight above which a pair stays in the working set"
    )
    priced_in: int = samples(30, 1, 10_000, "pairs that may join the working set at once")
    promising: float = samples(0.4, 0, 1, "share of the mean gradient above which a pair may join")

    batched_trust: float = boundary(
        4.0, 0.01, 1e6, "units of data that count less where pulls are put into batches"
    )
    batched_unit: float = samples(5.0, 1, 10_000, "pulls of a unit for each dimension, likewise")
    batched_exploration: float = samples(0.01, 0, 1, "share of the pulls that explore, likewise")
    batched_checks: int = samples(0, 0, 10_000, "pulls of a phase that explore at least, likewise")
    batched_clear: float = samples(
        2.0, 0, 100, "standard errors of a skewness that are taken for chance, likewise"
    )
    batched_alike: float = samples(1e6, 1, 1e9, "pulls that a pooled level is worth at most")

    batch_choices: tuple[float, ...] = samples(
        (5, 6, 7, 8, 10, 12, 15, 20, 25, 30), 2, 10_000, "how many batches a phase may have"
    )
    batch_loss: float = samples(0.9, 0, 2, "what m batches lose of the information, times m + 1")
    batch_weight: float = samples(
        0.004, 0, 1, "share of the largest weight below which a pair does without batches"
    )

    misfit_own: tuple[float, ...] = samples(
        (0.0, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0),
        0,
        1,
        "shares of a pair's own residual that contrasts try, from the fit to direct differences",
    )
    misfit_turns: int = samples(4, 1, 1000, "how often contrasts are chosen for new pulls")
    misfit_climbs: int = samples(8, 1, 1000, "steps towards better pulls for given contrasts")
    misfit_afresh: float = samples(
        0.05, 1e-6, 1, "share of the pulls that begin on all candidates: none is ruled out"
    )
    misfit_slight: float = samples(
        0.3, 0, 100, "gap that is planned for at least, in its own standard deviations"
    )
    misfit_hopeless: float = samples(
        0.5, 0, 100, "standard deviations that a gap may seem below zero and be worth a try"
    )

    def __post_init__(self) -> None:
        for constant in fields(self):
            value = suitable(constant, getattr(self, constant.name))
            object.__setattr__(self, constant.name, value)
        if any(smaller >= larger for smaller, larger in pairwise(self.sizes)):
            raise InputError(f"tuning: sizes={list(self.sizes)} must rise from each to the next")

    @classmethod
    def given(cls, constants: Mapping[str, Any]) -> Tuning:
        """The constants that a mapping names, the others as they are by default."""
        names = [constant.name for constant in fields(cls)]
        unknown = [name for name in constants if name not in names]
        if unknown:
            raise InputError(
                f"tuning: {', '.join(map(str, unknown))} is no constant of PRIME: choose among "
                f"{', '.join(names)}, or install a newer surefoot if a study file names it"
            )
        return cls(**constants)

    @property
    def foresight(self) -> Foresight:
        return Foresight(
            most_rivals=self.most_rivals,
            hope=self.hope,
            ahead=np.linspace(0.0, 1.0, self.horizons),
            furthest=self.furthest,
            doubt=self.doubt,
            sizes=np.array(self.sizes),
            patience=self.patience,
            feeble=self.feeble,
        )

    @property
    def effort(self) -> Effort:
        return Effort(
            tolerance=self.design_tolerance,
            rounds=self.rounds,
            in_use=self.in_use,
            priced_in=self.priced_in,
            promising=self.promising,
            exchanges=self.exchanges,
            worthwhile=self.worthwhile,
        )
