"""What is known of a patient when everything is done: plain values, which survive JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Curves = dict[str, dict[str, list[float]]]  # by day, then by name: BG every 3 minutes


@dataclass(frozen=True)
class PatientFacts:
    """Noise and truth of a patient.

    Attributes:
        tdi: total daily insulin, in units.
        pilot_samples: pulls of the pilot, from which the scales come.
        scale_low, scale_high: the smallest and the largest noise scale that methods are told.
        deviation_low, deviation_median, deviation_high: true standard deviations of the pairs.
        scales_covering: the share of pairs whose scale is no smaller than that.
        best, tied: the best arm, and all that may be the best one.
        best_value: its worst-case reward.
        truth_samples: pulls of the exhaustive simulation.
        linear_best, linear_regret: what the linear model prefers, and what that costs.
    """

    patient: str
    tdi: float
    pilot_samples: int
    scale_low: float
    scale_high: float
    deviation_low: float
    deviation_median: float
    deviation_high: float
    scales_covering: float
    best: int
    tied: list[int]
    best_value: float
    truth_samples: int
    linear_best: int
    linear_regret: float


@dataclass(frozen=True)
class ArmFacts:
    """A setting: its factors as set and under its worst error, and its true worst-case reward."""

    patient: str
    arm: int
    name: str
    carb_factor: float
    correction_factor: float
    worst_carb_factor: float
    worst_correction_factor: float
    value: float
    replicates: int


@dataclass(frozen=True)
class Choice:
    """What a method chose at one of its attempts, held against the truth."""

    patient: str
    method: str
    policy: str
    choice: int
    arm: int
    samples: int
    certified: bool
    reason: str
    candidates: int
    lack_of_fit: float | None
    model_rejected: bool
    found: bool
    regret: float


@dataclass(frozen=True)
class FiveDays:
    """One five-day simulation of a chosen setting, in the metrics of the paper's tables."""

    patient: str
    method: str
    case: str
    run: int
    arm: int
    risk: float
    below: float
    above: float
    within: float


@dataclass(frozen=True)
class PatientRecord:
    """Everything about one patient."""

    patient: PatientFacts
    arms: list[ArmFacts]
    choices: list[Choice]
    outcomes: list[FiveDays]
    curves: Curves

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PatientRecord:
        """Make it again from what JSON made of it."""
        return cls(
            PatientFacts(**values["patient"]),
            [ArmFacts(**row) for row in values["arms"]],
            [Choice(**row) for row in values["choices"]],
            [FiveDays(**row) for row in values["outcomes"]],
            values["curves"],
        )
