"""The dosing experiment: how often direct comparisons are certified and wrong, how far the pilot's
noise scales can be trusted, and how long it takes, with the rest of the paper and without.

Times of reproductions count everything: starting the processes, all runs, tables and figures.
Compilation is done before, by one patient, whose command is timed apart. `make tables` leaves these
times out, for no page shows them.
`SUREFOOT_BENCH_RUNS=40 python -m benchmarks bolus` chooses each patient's setting 40 times to count
errors, not 100 times; SUREFOOT_PATIENTS=child#008 takes that patient alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.spread import spread
from benchmarks.table import Row, seconds
from surefoot.arrays import Array
from surefoot.paper.bolus.methods import PRIME_SHARED, Assignment, run_method, run_pilot
from surefoot.paper.bolus.patient import find_truth
from surefoot.paper.bolus.problem import day_rewards, make_dosing, stream
from surefoot.paper.glucose import all_patients

CHOICES = int(os.environ.get("SUREFOOT_BENCH_RUNS", "100"))
TIMES = os.environ.get("SUREFOOT_BENCH_TIMES", "1") == "1"
LEVEL = 0.05  # of the exact test of each patient's error rate
REPLICATES = 10_000
AT_ONCE = 15  # pairs that a process takes at a time
CHECKED = ("adult#001", "adolescent#004", "child#004")
PAPER_HOURS = 90.0  # 30 patients × 3 h, the paper's running time details: simulation alone


def rows() -> Iterator[Row]:
    yield from errors()
    yield from scales()
    if TIMES:
        yield from one_patient()
        yield from everybody()


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
    whole = seconds(lambda: _surefoot("reproduce", "all", "--processes", "2"), repeats=1)
    yield Row("surefoot reproduce all, 2 processes", f"{whole:.0f} s", "≤ 480 s", whole <= 480)
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
    counts = spread(_count, [(name,) for name in _patients()])
    for count in counts:
        yield count.row
    pulls = float(np.mean([count.pulls for count in counts]))
    certified, right = (
        float(np.mean([getattr(count, what) for count in counts])) / CHOICES
        for what in ("certified", "right")
    )
    yield Row(
        "mean pulls, shared noise, everything counted", f"{pulls:,.0f}", "≤ 750", pulls <= 750
    )
    yield Row("certified", f"{100 * certified:.1f} %", "≥ 95 %", certified >= 0.95)
    yield Row("right", f"{100 * right:.1f} %", "≥ 98 %", right >= 0.98)


@dataclass(frozen=True)
class Count:
    """What became of one patient's choices; `pulls` is their mean."""

    name: str
    certified: int
    right: int
    wrong: int
    pulls: float

    @property
    def row(self) -> Row:
        delta = Assignment().delta
        test = stats.binomtest(self.wrong, CHOICES, delta, alternative="greater")
        most = stats.binomtest(self.wrong, CHOICES, alternative="less").proportion_ci(0.95).high
        measured = (
            f"{self.wrong} of {CHOICES} (at most {100 * most:.1f} % with 95 % confidence; "
            f"p = {test.pvalue:.2g}); {self.certified} certified; {self.pulls:,.0f} pulls"
        )
        passed = bool(test.pvalue >= LEVEL)
        return Row(
            f"{self.name}: certified and wrong", measured, f"p ≥ {LEVEL} for ≤ {delta:g}", passed
        )


def _count(name: str) -> Count:
    dosing = make_dosing(name)
    truth = find_truth(dosing, stream(0, dosing.patient, "truth"))
    sources = (stream(1, dosing.patient, "identify", number) for number in range(CHOICES))
    results = [run_method(PRIME_SHARED, dosing, None, Assignment(), source) for source in sources]
    right = [result.arm in truth.tied for result in results]
    certified = [result.certified for result in results]
    wrong = sum(sure and not found for sure, found in zip(certified, right, strict=True))
    pulls = float(np.mean([result.samples for result in results]))
    return Count(name, sum(certified), sum(right), wrong, pulls)


def _patients() -> list[str]:
    chosen = os.environ.get("SUREFOOT_PATIENTS")
    return chosen.split(",") if chosen else [patient.name for patient in all_patients()]


def scales() -> Iterator[Row]:
    """The pilot's scales against the standard deviations of many replicates of every pair."""
    for name in CHECKED:
        dosing = make_dosing(name)
        pilot = run_pilot(dosing, stream(0, dosing.patient, "pilot"))
        n_pairs = dosing.linear.n_pairs
        parts = [
            (name, first, min(first + AT_ONCE, n_pairs)) for first in range(0, n_pairs, AT_ONCE)
        ]
        deviations = np.concatenate(spread(_deviations, parts))
        covered, worst = pilot.covered(deviations), float((deviations / pilot.scales).max())
        measured = f"{100 * covered:.0f} % covered; largest deviation / scale {worst:.2f}"
        yield Row(
            f"noise scales of {name} against {REPLICATES:,} replicates", measured, "reported", True
        )


def _deviations(name: str, first: int, last: int) -> Array:
    """Standard deviations of the rewards of these pairs."""
    dosing, found = make_dosing(name), []
    for pair in range(first, last):
        source = np.random.SeedSequence(1, spawn_key=(pair,))
        rewards = day_rewards(dosing, np.full(REPLICATES, pair), source)
        found.append(float(rewards.sum(axis=0).std(ddof=1)))
    return np.array(found)


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
