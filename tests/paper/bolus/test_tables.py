"""The tables, on figures small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from surefoot.paper.bolus.methods import CALCULATOR, LABELS, METHODS, ROBUST_RAGE, STABLEOPT
from surefoot.paper.bolus.patient import CASES, FiveDays, PatientRecord
from surefoot.paper.bolus.tables import (
    PAPER,
    Tables,
    _groups_table,
    _method_summary,
    _methods_table,
    _outcome_summary,
    _outcomes_table,
    _patient_summary,
    paper_claims,
)
from tests.paper.bolus.test_report import ARM, CHOICE, PATIENT, PILOT


def outcomes(within: dict[tuple[str, str], float]) -> pd.DataFrame:
    """Two simulations per method and case, 1 % apart on either side of a value."""
    rows = []
    for case in CASES:
        for label in LABELS:
            for run, shift in enumerate((-1.0, 1.0)):
                value = within.get((case, label), 80.0) + shift
                figures = {"risk": 3.0, "below": 100 - value, "above": 0.0, "within": value}
                figures["risk_of_parts"] = 4.0
                rows.append({"patient": "a", "method": label, "case": case, "run": run, **figures})
    return pd.DataFrame(rows)


def choices() -> pd.DataFrame:
    rows = []
    for patient, regret in (("a", 0.0), ("b", 3.0)):
        for method in METHODS:
            rows.append(
                {
                    "patient": patient,
                    "method": method.label,
                    "samples": 10 if patient == "a" else 30,
                    "pilot": 4 if method.needs_scales else 0,
                    "certified": method.algorithm == "prime",
                    "model_rejected": patient == "b" and method.model == "linear",
                    "lack_of_fit": 0.5 if method.model == "linear" else None,
                    "found": regret == 0,
                    "regret": regret,
                    "arm": int(regret),
                }
            )
    return pd.DataFrame(rows)


def test_the_papers_rows_add_up() -> None:
    for risk, below, above, within in PAPER.values():
        assert below[0] + above[0] + within[0] == pytest.approx(100, abs=0.03)
        assert 3 < risk[0] < 8


def test_outcomes_are_means_and_deviations_beside_the_papers() -> None:
    table = _outcome_summary(outcomes({}))
    row = table[(table["method"] == CALCULATOR) & (table["case"] == CASES[1])].iloc[0]
    assert (row["within"], row["within_sd"]) == pytest.approx((80.0, 2**0.5))
    assert (row["paper_within"], row["paper_below_sd"]) == (69.52, 21.35)
    prime = table[table["method"] == "PRIME, tabular"]
    assert prime["paper_risk"].isna().all()
    assert len(table) == 2 * len(LABELS)


def test_methods_are_counted_against_the_truth() -> None:
    table = _method_summary(choices()).set_index("method")
    row = table.loc["PRIME, linear"]
    assert (row["samples"], row["certified"], row["found"]) == (20, 1.0, 0.5)
    assert (row["certified_wrong"], row["regret"], row["regret_most"]) == (0.5, 1.5, 3.0)
    assert row["model_rejected"] == 0.5
    assert table.loc["Robust RAGE", "certified_wrong"] == 0
    assert row["model_untestable"] == 0
    assert table.loc["PRIME, tabular", "model_untestable"] == 1


def test_printed_tables_have_the_figures_and_know_what_decides_them() -> None:
    methods = _methods_table(_method_summary(choices()))
    rows = {row[0]: row for row in methods.rows}
    assert rows["PRIME, linear"] == (
        "PRIME, linear", "valid", "20", "4", "20",
        "100 %", "50 %", "0 %", "50 %", "50 %", "1.50", "3.00",
    )  # fmt: skip
    prime = {
        row[0]: any("prime" in r for r in root)
        for row, root in zip(methods.rows, methods.roots, strict=True)
    }
    assert {name for name, rests in prime.items() if rests} == {n for n in LABELS if "PRIME" in n}
    shown = _outcomes_table(_outcome_summary(outcomes({})))
    assert shown.rows[1] == (
        "Calculator", "paper", "4.07 ± 3.49", "–", "3.48 ± 7.33", "11.23 ± 13.95", "85.29 ± 14.30",
    )  # fmt: skip
    assert shown.roots[1] == ()  # the paper's own


def test_one_row_per_patient() -> None:
    patients = pd.DataFrame({"patient": ["a", "b"], "tied": ["0", "0 1"]})
    table = _patient_summary(Tables(outcomes({}), choices(), patients, pd.DataFrame()))
    assert table["StableOPT: regret"].tolist() == [0.0, 3.0]
    assert table["PRIME, tabular: arms"].tolist() == ["0", "3"]


GOOD = {CALCULATOR: (4, 0), STABLEOPT.label: (2, 1), ROBUST_RAGE.label: (0, 2)}


def people(costs: dict[str, tuple[float, float]], drop: float, found: dict[str, float]) -> Tables:
    """Twelve patients who differ; each method is worse than perfect by its cost in every metric.

    Args:
        costs: by method.
        drop: points in range that the worst error costs the calculator.
        found: the share of patients for whom a method finds the best arm.
    """
    rng, days, chosen = np.random.default_rng(0), [], []
    for number in range(12):
        patient = f"{('adult', 'adolescent', 'child')[number % 3]}#{number:03d}"
        own = rng.normal(0, 0.2)
        for label, (cost, _) in costs.items():
            for case in CASES:
                fall = drop if label == CALCULATOR and case == CASES[1] else 0.1
                noise = rng.normal(0, 0.1)
                worse = cost + own + noise
                values = {"risk": worse, "risk_of_parts": worse, "below": worse, "above": worse}
                days.append(
                    {"patient": patient, "method": label, "case": case, "within": 90 - worse - fall}
                    | values
                )
            if label in found:
                best = number < 12 * found[label]
                row = {"patient": patient, "method": label, "found": best}
                chosen.append(row | {"regret": 0.0 if best else 1.0})
    empty = pd.DataFrame({"patient": []}, dtype=str)
    return Tables(pd.DataFrame(days), pd.DataFrame(chosen), empty, empty)


def test_every_claim_about_the_tables_can_hold() -> None:
    tables = people(GOOD, 9.0, {STABLEOPT.label: 0.4, ROBUST_RAGE.label: 1.0})
    verdicts = {claim.text: claim.verdict for claim in paper_claims(tables)}
    assert set(verdicts.values()) == {"holds"}
    assert len(verdicts) == 16
    assert "adult" in next(c.numbers for c in paper_claims(tables) if "age ranges" in c.text)
    assert [row[0] for row in _groups_table(tables).rows[::3]] == ["adult", "adolescent", "child"]


def test_the_main_sentence_fails_where_stableopt_finds_it_more_often() -> None:
    tables = people(GOOD, 0.5, {STABLEOPT.label: 1.0, ROBUST_RAGE.label: 0.4})
    verdicts = {claim.text: claim.verdict for claim in paper_claims(tables)}
    assert (
        verdicts["Robust RAGE outperforms StableOPT by identifying the best robust arm"] == "fails"
    )
    assert next(v for text, v in verdicts.items() if "highly non-robust" in text) == "fails"
    assert next(v for text, v in verdicts.items() if "effectiveness" in text) == "fails"
    assert next(v for text, v in verdicts.items() if "StableOPT is unable" in text) == "undecided"


def test_nothing_is_decided_where_nothing_differs() -> None:
    alike = dict.fromkeys(GOOD, (1.0, 0.0))
    tables = people(alike, 0.1, {STABLEOPT.label: 0.5, ROBUST_RAGE.label: 0.5})
    verdicts = {claim.text: claim.verdict for claim in paper_claims(tables)}
    between = next(v for text, v in verdicts.items() if "falls between" in text)
    better = [v for text, v in verdicts.items() if "better than" in text]
    assert {between, *better} == {"undecided"}


def test_ties_of_all_records_are_spelt_out() -> None:
    days = FiveDays("a", CALCULATOR, CASES[0], 0, 1, 3.0, 4.0, 1.0, 9.0, 90.0)
    record = PatientRecord(
        replace(PATIENT, patient="a", tied=[3, 4]), PILOT, [ARM], [CHOICE], [days]
    )
    tables = Tables.of([record, record])
    assert tables.patients["tied"].tolist() == ["3 4", "3 4"]
    assert tables.patients["pilot_samples"].tolist() == [3000, 3000]
    assert len(tables.outcomes) == len(tables.choices) == len(tables.arms) == 2
