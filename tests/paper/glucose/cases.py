"""The runs our kernels share with simglucose, by name: patients × scenarios × settings, each with
its own seed.
"""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.paper.glucose.day import Scenario, all_patients, diet, find_patient

# off the 3-minute grid, two in one window, one while still eating, one in the last window
ODD_MEALS = Scenario(
    minutes=(1, 61, 62, 401, 407, 410, 803, 1003, 1439),
    grams=(10.0, 7.3, 4.4, 61.7, 25.9, 3.1, 120.4, 0.6, 8.0),
)


@dataclass(frozen=True)
class Case:
    """One run: who, what is eaten, the calculator's scale, the noise."""

    kind: str
    patient: str
    seed: int
    scale: float = 1.0
    sensor: str = "Dexcom"
    reading: str = "cgm"

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.patient}"

    @property
    def scenario(self) -> Scenario:
        plans = {"low": ("low",), "high": ("high",), "five": ("low", "high", "high", "low", "high")}
        days = plans.get(self.kind.split("-")[0])
        return ODD_MEALS if days is None else diet(*days).scenario(find_patient(self.patient))


SETTINGS = {
    "low": {},
    "high": {},
    "five": {},
    "odd": {},
    "low-collapse": {"scale": 0.3},
    "high-collapse": {"scale": 0.3},
    "high-true": {"reading": "bg"},
    "high-guardian": {"sensor": "GuardianRT"},
    "high-navigator": {"sensor": "Navigator"},
}
FEW = {"high-true", "high-guardian", "high-navigator"}


def cases(kind: str) -> list[Case]:
    """All patients of one kind of run; every seventh patient for the rarer kinds."""
    first = 1000 * list(SETTINGS).index(kind)
    chosen = list(enumerate(all_patients()))[:: 7 if kind in FEW else 1]
    return [
        Case(kind, patient.name, first + number, **SETTINGS[kind]) for number, patient in chosen
    ]
