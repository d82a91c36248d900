"""What is known of a patient when everything is done: plain values, which survive JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Profile = dict[str, list[float]]  # "hour", and BG by `evaluation.QUANTILES`


@dataclass(frozen=True)
class PilotFacts:
    """What a pilot said about the noise, for methods that need scales.

    Attributes:
        samples: its pulls.
        scale_low, scale_high: the smallest and the largest scale that methods are told.
        covering: the share of pairs whose scale is no smaller than the true standard deviation.
    """

    samples: int
    scale_low: float
    scale_high: float
    covering: float


@dataclass(frozen=True)
class PatientFacts:
    """Noise and truth of a patient.

    Attributes:
        tdi: total daily insulin, in units.
        deviation_low, deviation_median, deviation_high: true standard deviations of the pairs.
        best, tied: the best arm, and all that may be the best one.
        best_value: its worst-case reward.
        truth_samples: pulls of the exhaustive simulation.
        linear_best, linear_regret: what the linear model prefers, and what that costs.
    """

    patient: str
    tdi: float
    deviation_low: float
    deviation_median: float
    deviation_high: float
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
    """What a method chose at one of its attempts, held against the truth.

    Attributes:
        samples: all pulls that it took, those of a pilot for the noise scales included.
        pilot: how many of them were the pilot's.
        attained: how sure the method was in the end that the arm is best; None if it cannot say.
    """

    patient: str
    method: str
    policy: str
    choice: int
    arm: int
    samples: int
    pilot: int
    certified: bool
    attained: float | None
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
    """Everything about one patient; no pilot where no method needed its scales."""

    patient: PatientFacts
    pilot: PilotFacts | None
    arms: list[ArmFacts]
    choices: list[Choice]
    outcomes: list[FiveDays]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PatientRecord:
        """Make it again from what JSON made of it."""
        pilot = values["pilot"]
        return cls(
            PatientFacts(**values["patient"]),
            None if pilot is None else PilotFacts(**pilot),
            [ArmFacts(**row) for row in values["arms"]],
            [Choice(**row) for row in values["choices"]],
            [FiveDays(**row) for row in values["outcomes"]],
        )


@dataclass(frozen=True)
class Advice:
    """A patient's record, and what a page about it shows.

    Attributes:
        profiles: ambulatory glucose profiles by the name of the setting and the case.
        charts: Vega-Lite specifications by name.
    """

    record: PatientRecord
    profiles: dict[str, Profile]
    charts: dict[str, Any]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Advice:
        """Make it again from what JSON made of it."""
        record = PatientRecord.from_json(values["record"])
        return cls(record, values["profiles"], values["charts"])
