"""The tables, on figures small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from surefoot.experiments.publication import Claim
from surefoot.paper.bolus.methods import CALCULATOR, LABELS, METHODS
from surefoot.paper.bolus.patient import CASES, FiveDays, PatientRecord
from surefoot.paper.bolus.tables import (
    PAPER,
    Tables,
    markdown,
    method_summary,
    method_table,
    outcome_summary,
    paper_claims,
    patient_summary,
)
from tests.experiments.bolus.test_report import ARM, CHOICE, PATIENT, PILOT


def outcomes(within: dict[tuple[str, str], float]) -> pd.DataFrame:
    """Two simulations per method and case, 1 % apart on either side of a value."""
    rows = []
    for case in CASES:
        for label in LABELS:
            for run, shift in enumerate((-1.0, 1.0)):
                value = within.get((case, label), 80.0) + shift
                figures = {"risk": 3.0, "below": 100 - value, "above": 0.0, "within": value}
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
    table = outcome_summary(outcomes({}))
    row = table[(table["method"] == CALCULATOR) & (table["case"] == CASES[1])].iloc[0]
    assert (row["within"], row["within_sd"]) == pytest.approx((80.0, 2**0.5))
    assert (row["paper_within"], row["paper_below_sd"]) == (69.52, 21.35)
    prime = table[table["method"] == "PRIME, tabular"]
    assert prime["paper_risk"].isna().all()
    assert len(table) == 2 * len(LABELS)


def test_methods_are_counted_against_the_truth() -> None:
    table = method_summary(choices()).set_index("method")
    row = table.loc["PRIME, linear"]
    assert (row["samples"], row["certified"], row["found"]) == (20, 1.0, 0.5)
    assert (row["certified_wrong"], row["regret"], row["regret_most"]) == (0.5, 1.5, 3.0)
    assert row["model_rejected"] == 0.5
    assert table.loc["Robust RAGE", "certified_wrong"] == 0
    assert row["model_untestable"] == 0
    assert table.loc["PRIME, tabular", "model_untestable"] == 1


def test_the_methods_table_reads_alike_in_markdown_and_terminal() -> None:
    methods, claim = method_summary(choices()), Claim("it is so", True, "1 against 2")
    lines = markdown(
        outcome_summary(outcomes({})), methods, "Truth: 30 pulls.", [claim]
    ).splitlines()
    assert (
        "| PRIME, linear | valid | 20 | 4 | 20 | 100 % | 50 % | 0 % | 50 % | 50 % | 1.50 | 3.00 |"
        in lines
    )
    assert "- holds: it is so (1 against 2)" in lines
    assert "Truth: 30 pulls." in lines
    shown = method_table(methods)
    cells = [list(column.cells)[2] for column in shown.columns]
    assert cells == [
        "PRIME, linear",
        "valid",
        "20",
        "4",
        "100 %",
        "50 %",
        "0 %",
        "50 %",
        "50 %",
        "1.50, 3.00",
    ]
    assert all(column.header for column in shown.columns)


def test_one_row_per_patient() -> None:
    patients = pd.DataFrame({"patient": ["a", "b"], "tied": ["0", "0 1"]})
    table = patient_summary(Tables(outcomes({}), choices(), patients, pd.DataFrame()))
    assert table["StableOPT: regret"].tolist() == [0.0, 3.0]
    assert table["PRIME, tabular: arms"].tolist() == ["0", "3"]


def test_claims_hold_where_the_figures_are_as_the_paper_has_them() -> None:
    paper = {key: figures[3][0] for key, figures in PAPER.items()}
    assert all(claim.holds for claim in paper_claims(outcome_summary(outcomes(paper))))


def test_claims_fail_where_nothing_differs() -> None:
    assert not any(claim.holds for claim in paper_claims(outcome_summary(outcomes({}))))


def test_ties_of_all_records_are_spelt_out() -> None:
    days = FiveDays("a", CALCULATOR, CASES[0], 0, 1, 3.0, 1.0, 9.0, 90.0)
    record = PatientRecord(
        replace(PATIENT, patient="a", tied=[3, 4]), PILOT, [ARM], [CHOICE], [days]
    )
    tables = Tables.of([record, record])
    assert tables.patients["tied"].tolist() == ["3 4", "3 4"]
    assert tables.patients["pilot_samples"].tolist() == [3000, 3000]
    assert len(tables.outcomes) == len(tables.choices) == len(tables.arms) == 2
