"""PRIME's constants: each is a default, its limits, a sentence, and its effects.

Numerical tolerances and the efforts of solvers stand where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from surefoot.doubt import NormalityPenalty
from surefoot.errors import InputError

T = TypeVar("T", int, float)

ENTERS_BOUNDARY = "enters the boundary"  # fixed before any data that count
ROBUSTNESS = "robustness"  # against rewards that are less normal than scores assume
COSTS_SAMPLES = "costs samples only"


def _constant(effect: str, default: T, least: float, most: float, meaning: str) -> T:
    metadata = {"meaning": meaning, "effect": effect, "least": least, "most": most}
    constant: T = field(default=default, metadata=metadata)
    return constant


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Constants that decide PRIME's plans. Metadata of a field says what it means and affects."""

    looks: int = _constant(
        ENTERS_BOUNDARY,
        60, 1, 1000, "looks of a common schedule after which the boundary rises: few runs get there"
    )  # fmt: skip
    growth: float = _constant(
        ENTERS_BOUNDARY,
        1.12, 1.01, 10, "factor by which data grow from look to look of a common schedule"
    )  # fmt: skip
    trust: float = _constant(
        ENTERS_BOUNDARY,
        12.0, 0.01, 1e6, "units of data before which phases of a schedule count less"
    )  # fmt: skip
    strict: float = _constant(
        ENTERS_BOUNDARY,
        4.0, 0, 1e6, "units before which looks of a schedule have a higher boundary"
    )  # fmt: skip
    grid_middle: int = _constant(
        ENTERS_BOUNDARY,
        45, 0, 149, "point of the grid of own clocks where the least evidence is enough"
    )  # fmt: skip
    grid_rise: float = _constant(
        ENTERS_BOUNDARY,
        1.0, 0, 10, "rise of the squared boundary away from there, for each factor e of time"
    )  # fmt: skip

    pair_pulls: float = _constant(
        ROBUSTNESS, 6.0, 1, 10_000, "pulls of a compared pair in the first phases that count"
    )
    score_least: int = _constant(
        ROBUSTNESS, 6, 2, 10_000, "batches of t statistics, and pulls of a pair in them, at least"
    )
    skew_pulls: float = _constant(
        ROBUSTNESS, 4.0, 0, 1e6, "pulls of a pair for each unit of squared skewness"
    )
    skew_hidden: float = _constant(
        ROBUSTNESS,
        5.0, 0, 1e6, "share of 1 / √n by which a skewness seen in n batches may be larger"
    )  # fmt: skip
    fall: float = _constant(
        ROBUSTNESS, 4.0, 0, 1e6, "fall that may still come, in the largest seen, or in deviations"
    )
    quiet: float = _constant(
        ROBUSTNESS, 0.2, 0, 1, "share of the largest deviation below which a pair is quiet"
    )
    quiet_pulls: int = _constant(
        ROBUSTNESS,
        60, 0, 10**9, "pulls of a pair that never varied after which no fall is feared any more"
    )  # fmt: skip

    unit: float = _constant(
        COSTS_SAMPLES, 4.0, 1, 10_000, "pulls of a schedule's unit for each dimension"
    )
    pilot_pulls: int = _constant(
        COSTS_SAMPLES, 3, 2, 10_000, "pulls of each of a guide's first pairs"
    )
    pilot_sure: float = _constant(
        COSTS_SAMPLES, 0.7, 0, 1, "chance that the guessed leader is best, at which a pilot ends"
    )
    pilot_most: float = _constant(
        COSTS_SAMPLES, 4.0, 1, 1e6, "how many times its first pulls a pilot may have"
    )
    pair_growth: float = _constant(
        COSTS_SAMPLES,
        1.1, 1.001, 10, "factor by which pulls of compared pairs grow from phase to phase"
    )  # fmt: skip
    hope: float = _constant(
        COSTS_SAMPLES, 0.6, 1e-6, 1 - 1e-6, "chance of finishing up to which shares look ahead"
    )
    doubt: float = _constant(
        COSTS_SAMPLES, 0.3, 0, 100, "share of the gaps' own uncertainty that counts"
    )
    own_doubt: float = _constant(
        COSTS_SAMPLES,
        0.3, 0.001, 100, "standard errors of a pair's own mean that a guess is doubted by at least"
    )  # fmt: skip
    slight: float = _constant(
        COSTS_SAMPLES,
        0.3, 0.001, 100, "gap that is planned for at least, in its own standard deviations"
    )  # fmt: skip
    exploration: float = _constant(
        COSTS_SAMPLES, 0.02, 0, 1, "share of the pulls that explore where a model is trusted"
    )
    least_share: float = _constant(
        COSTS_SAMPLES,
        0.6, 0, 1, "pulls of a directly compared pair at least, in those of an even share"
    )  # fmt: skip
    loyalty: float = _constant(
        COSTS_SAMPLES,
        0.25, 0, 1, "share of the tolerance by which a leader may seem worse than another and stay"
    )  # fmt: skip
    streams_pay: float = _constant(
        COSTS_SAMPLES,
        0.95, 0, 1, "variance of differences at which shared streams pay, in that of separate ones"
    )  # fmt: skip
    wealth_aim: float = _constant(
        COSTS_SAMPLES,
        0.7, 0, 1, "share of the tolerance that stakes count on; without any, some runs never end"
    )  # fmt: skip
    guess_share: float = _constant(
        COSTS_SAMPLES,
        0.8, 0, 1, "share of a budget that serves a guess alone; the rest is evidence as well"
    )  # fmt: skip

    def __post_init__(self) -> None:
        for constant in fields(self):
            value = _suitable(constant, getattr(self, constant.name))
            object.__setattr__(self, constant.name, value)

    @classmethod
    def given(cls, constants: Mapping[str, Any]) -> Tuning:
        """Return the constants that a mapping names, the others as they are by default."""
        names = [constant.name for constant in fields(cls)]
        unknown = [name for name in constants if name not in names]
        if unknown:
            raise InputError(
                f"tuning: {', '.join(map(str, unknown))} is no constant of PRIME: choose among "
                f"{', '.join(names)}, or install a newer surefoot if a study file names it"
            )
        return cls(**constants)

    @property
    def suspicion(self) -> NormalityPenalty:
        return NormalityPenalty(
            hidden=self.skew_hidden,
            fall=self.fall,
            quiet=self.quiet,
            pulls=self.quiet_pulls,
        )


def _suitable(constant: Field[Any], value: Any) -> int | float:
    """Return the value in the type of its default, if it is within the limits."""
    whole = isinstance(constant.default, int)
    least, most = constant.metadata["least"], constant.metadata["most"]
    numeric = isinstance(value, int | float | np.integer | np.floating)
    if numeric and not isinstance(value, bool) and least <= value <= most:
        if not whole:
            return float(value)
        if value == int(value):
            return int(value)
    raise InputError(
        f"tuning: {constant.name}={value!r:.80} must be a {'whole ' * whole}number from "
        f"{least:g} to {most:g} ({constant.metadata['meaning']})"
    )
