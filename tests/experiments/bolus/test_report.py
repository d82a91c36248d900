"""What the page says in each case; the command's tests read a whole page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surefoot.experiments.bolus.methods import Question
from surefoot.experiments.bolus.records import ArmFacts, Choice, PatientFacts
from surefoot.experiments.bolus.report import Recommendation, caveats, curve_frames

ARM = ArmFacts("adult#001", 0, "TDI 45.00", 11.111, 40.0, 10.0, 35.0, -8.0, 300)
CHOICE = Choice(
    "adult#001", "PRIME, tabular", "valid", 0, 0,
    1200, True, "IDENTIFIED", 3, None, False, True, 0.0,
)  # fmt: skip
PATIENT = PatientFacts(
    "adult#001", 45.0, 3000, 1.0, 2.0, 0.5, 1.0, 1.9, 0.96, 4, [4, 5], -8.0, 30000, 0, 2.38
)


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
    sentence = recommendation(certified=certified, reason=reason).sentence(Question(tolerance=0.5))
    assert sentence.startswith("TDI 45.00 U/day: CarbF 11.11 g/U and CorrF 40.00 mg/dL per U")
    assert words in sentence


def test_ties_and_the_linear_models_preference_are_told() -> None:
    text = " ".join(caveats(PATIENT))
    assert "tied between arms 4, 5" in text
    assert "prefers arm 0, which is worse by 2.38" in text
    assert "96 %" in text


def test_curves_get_their_minutes() -> None:
    frames = curve_frames({"low": {"a": [100.0, 101.0], "b": [90.0, 91.0]}})
    assert frames["low"]["minute"].tolist() == [0, 3, 0, 3]
    assert frames["low"]["curve"].tolist() == ["a", "a", "b", "b"]
