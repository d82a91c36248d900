"""What the page says in each case; the command's tests read a whole page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surefoot.paper.bolus.advice import METHOD, Recommendation, fine_print
from surefoot.paper.bolus.methods import Assignment
from surefoot.paper.bolus.patient import (
    CASES,
    ArmFacts,
    Choice,
    FiveDays,
    PatientFacts,
    PatientRecord,
    PilotFacts,
    Plan,
)

ARM = ArmFacts("adult#001", 0, "TDI 45.00", 11.111, 40.0, 10.0, 35.0, -8.0, 300)
CHOICE = Choice(
    "adult#001", METHOD.label, "valid", 0, 0,
    1200, 0, True, 0.9678, "IDENTIFIED", 3, None, False, True, 0.0,
)  # fmt: skip
PATIENT = PatientFacts("adult#001", 45.0, 0.5, 1.0, 1.9, 4, [4, 5], -8.0, 30000, 0, 2.38)
PILOT = PilotFacts(3000, 1.0, 2.0, 0.96)


def recommendation(**chosen: Any) -> Recommendation:
    return Recommendation("adult#001", replace(CHOICE, **chosen), ARM, ARM, {})


@pytest.mark.parametrize(
    ("certified", "reason", "words"),
    [
        (
            True,
            "IDENTIFIED",
            "have the best worst case of the settings tried, with 95 % confidence "
            "after 1,200 pulls",
        ),
        (
            True,
            "WITHIN_TOLERANCE",
            "have the best worst case, to within 0.5, of the settings tried",
        ),
        (
            False,
            "BUDGET",
            "are the best guess, not certified: 3 settings are still possible after 1,200 pulls",
        ),
    ],
)
def test_the_sentence_claims_no_more_than_was_shown(
    certified: bool, reason: str, words: str
) -> None:
    sentence = recommendation(certified=certified, reason=reason).sentence(
        Plan(question=Assignment(tolerance=0.5))
    )
    assert sentence.startswith("TDI 45.00 U/day: CarbF 11.11 g/U and CorrF 40.00 mg/dL per U")
    assert words in sentence


def test_confidence_is_never_rounded_up() -> None:
    assert recommendation(attained=0.9678).confidence == "96.7 %"
    assert recommendation(attained=0.95).confidence == "95 %"
    assert recommendation(attained=None).confidence == "0 %"
    assert recommendation(attained=1 - 1e-13).confidence == "99.9 %"


@pytest.mark.parametrize(
    ("reward", "words"),
    [("risk", "nearly normal"), ("time-in-range", "rewards between 0 and 100, and nothing else")],
)
def test_the_fine_print_says_what_is_assumed_and_what_is_true(reward: str, words: str) -> None:
    days = FiveDays("adult#001", METHOD.label, CASES[0], 0, 0, 3.0, 4.0, 1.0, 9.0, 90.0)
    record = PatientRecord(PATIENT, None, [ARM], [replace(CHOICE, found=False)], [days])
    assumed, truth = fine_print(record, Plan(reward=reward))
    assert words in assumed
    assert "no noise level" in assumed
    assert "30,000 pulls" in truth
    assert "arm 4 (tied between arms 4, 5), not arm 0" in truth
