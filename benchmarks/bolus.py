"""The dosing experiment: how long it takes, how often direct comparisons are certified and wrong,
and how far the pilot's noise scales can be trusted.

The time of the whole reproduction counts everything: starting the processes, all 30 patients,
tables and figures. Compilation is done before, by one patient, whose command is timed apart.
SUREFOOT_CHOICES says how often each patient's setting is chosen to count errors (100), and
SUREFOOT_PATIENTS which patients (all of them).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks.table import Row, seconds
from surefoot.experiments.bolus.methods import PRIME_SHARED, Question, run_method
from surefoot.experiments.bolus.noise import run_pilot
from surefoot.experiments.bolus.problem import Dosing, day_rewards, make_dosing, stream
from surefoot.experiments.bolus.truth import find_truth
from surefoot.glucose import all_patients

CHOICES = int(os.environ.get("SUREFOOT_CHOICES", "100"))
LEVEL = 0.01  # of the exact test of each patient's error rate
REPLICATES = 10_000
CHECKED = ("adult#001", "adolescent#004", "child#004")
PAPER_HOURS = 90.0  # 30 patients × 3 h, the paper's running time details: simulation alone


def rows() -> Iterator[Row]:
    yield from one_patient()
    yield from everybody()
    yield from errors()
    yield from scales()


def one_patient() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        first = seconds(lambda: _surefoot("bolus", "adult#001", NUMBA_CACHE_DIR=cache), repeats=1)
        again = seconds(lambda: _surefoot("bolus", "adult#001", NUMBA_CACHE_DIR=cache), repeats=2)
    yield Row(
        "surefoot bolus adult#001, first use (compiles)", f"{first:.1f} s", "< 30 s", first < 30
    )
    yield Row("surefoot bolus adult#001", f"{again:.1f} s", "< 30 s", again < 30)


def everybody() -> Iterator[Row]:
    _surefoot("bolus", "adult#001", "--arms", "3", "--runs", "1")  # compiled code is in the cache
    took = seconds(lambda: _surefoot("reproduce", "bolus", "--processes", "2"), repeats=1)
    yield Row("surefoot reproduce bolus, 2 processes", f"{took:.0f} s", "< 180 s", took < 180)
    ratio = 3600 * PAPER_HOURS / took
    yield Row(
        "the same against the paper's 90 h of simulation",
        f"{ratio:,.0f} ×",
        "≥ 1 800 ×",
        ratio >= 1800,
    )


def errors() -> Iterator[Row]:
    """How often each patient's choice is certified and wrong, held against δ by an exact test."""
    question, pulls = Question(), []
    for name in _patients():
        dosing = make_dosing(name)
        truth = find_truth(dosing, stream(0, dosing.patient, "truth"))
        results = [
            run_method(
                PRIME_SHARED, dosing, None, question, stream(1, dosing.patient, "identify", k)
            )
            for k in range(CHOICES)
        ]
        wrong = sum(result.certified and result.arm not in truth.tied for result in results)
        certified = sum(result.certified for result in results)
        p = stats.binomtest(wrong, CHOICES, question.delta, alternative="greater").pvalue
        pulls.append(np.mean([result.samples for result in results]))
        measured = (
            f"{wrong} of {CHOICES} (p = {p:.2g}); {certified} certified; {pulls[-1]:,.0f} pulls"
        )
        target = f"cannot reject ≤ {question.delta:g}"
        yield Row(f"{name}: certified and wrong", measured, target, bool(p >= LEVEL))
    mean = float(np.mean(pulls))
    yield Row("mean pulls, shared noise, everything counted", f"{mean:,.0f}", "≤ 750", mean <= 750)


def _patients() -> list[str]:
    chosen = os.environ.get("SUREFOOT_PATIENTS")
    return chosen.split(",") if chosen else [patient.name for patient in all_patients()]


def scales() -> Iterator[Row]:
    """The pilot's scales against the standard deviations of many replicates of every pair."""
    for name in CHECKED:
        dosing = make_dosing(name)
        pilot = run_pilot(dosing, stream(0, dosing.patient, "pilot"))
        deviations = np.array([_deviation(dosing, pair) for pair in range(dosing.linear.n_pairs)])
        covered, worst = pilot.covered(deviations), float((deviations / pilot.scales).max())
        measured = f"{100 * covered:.0f} % covered; largest deviation / scale {worst:.2f}"
        yield Row(
            f"noise scales of {name} against {REPLICATES:,} replicates", measured, "reported", True
        )


def _deviation(dosing: Dosing, pair: int) -> float:
    rewards = day_rewards(
        dosing, np.full(REPLICATES, pair), np.random.SeedSequence(1, spawn_key=(pair,))
    )
    return float(rewards.sum(axis=0).std(ddof=1))


def _surefoot(*arguments: str, **environment: str) -> None:
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [
                sys.executable,
                "-c",
                "from surefoot.cli import main; main()",
                *arguments,
                "--out",
                out,
                "--quiet",
            ],
            check=True,
            capture_output=True,
            env={**os.environ, **environment},
        )
