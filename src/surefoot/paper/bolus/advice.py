"""What a person is told about one patient: the certified setting, and how days look with it."""

from __future__ import annotations

from collections.abc import Callable

from surefoot.paper.bolus.evaluation import CASES, daily_profile
from surefoot.paper.bolus.methods import PRIME_SHARED
from surefoot.paper.bolus.patient import Findings, Plan, find, record_of
from surefoot.paper.bolus.records import Advice, Profile

SETTINGS = ("standard calculator", "recommended")
ENDS = {CASES[0]: "as set", CASES[1]: "worst error"}
METHOD = PRIME_SHARED  # whose choice is recommended


def advise(name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None) -> Advice:
    """Choose, and hold the choice against the truth; the same to the bit for the same plan."""
    found = find(name, plan, tell)
    return Advice(record_of(found, tell), _profiles(found), _charts(found))


def _profiles(found: Findings) -> dict[str, Profile]:
    recommended = found.results[0][METHOD.label].arm
    arms = (found.dosing.baseline_arm, recommended)
    return {
        f"{name}, {end}": daily_profile(
            found.dosing, found.setting(arm, case), found.plan.runs, found.plan.seed
        )
        for case, end in ENDS.items()
        for name, arm in zip(SETTINGS, arms, strict=True)
    }


def _charts(found: Findings) -> dict[str, object]:
    from surefoot.view.charts.arms import arms_drawing
    from surefoot.view.charts.evidence import evidence_drawing

    result = found.results[0][METHOD.label]
    title = "Worst case of each setting"
    charts = {"arms": arms_drawing(result, title=title)}
    evidence = evidence_drawing(result)
    if not evidence.tables["evidence"].empty:
        charts["evidence"] = evidence
    return {name: chart.spec() for name, chart in charts.items()}
