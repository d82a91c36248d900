from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.design.designs import g_weights
from surefoot.experiments.instances import classic
from surefoot.experiments.session import Session
from surefoot.paper import why_rage
from surefoot.paper.figure1 import SPHERE, played
from surefoot.paper.why_rage import (
    BY_THE_PAPER,
    Diagnosis,
    _hardness,
    _Keeping,
    _Looking,
    _Recording,
    diagnose,
)


@pytest.fixture(scope="module")
def row() -> Diagnosis:
    return diagnose("unit-sphere", 20, SPHERE.seed(0, 20, 3))


def test_the_parts_add_up(row: Diagnosis) -> None:
    last = row.printed - row.discarded
    assert row.phases >= 2
    assert 0 < row.first_phase <= row.discarded
    assert last > 0
    assert row.needs_best < min(row.needs_g, row.needs_first)


def test_without_rounding_nothing_changes_where_it_never_binds(row: Diagnosis) -> None:
    assert row.rounding_binds == 0
    assert row.without_rounding == row.printed


def test_a_phase_that_is_looked_at_is_never_longer() -> None:
    seed = SPHERE.seed(0, 20, 3)
    instance = SPHERE.instance(20, seed)
    looking, printed = (
        played(algorithm.start(instance[0], BY_THE_PAPER), instance, seed)
        for algorithm in (_Looking(), _Recording())
    )
    first = int(printed.history[0].counts.sum())
    parts = np.cumsum([record.counts.sum() for record in looking.history])
    assert len(parts) > len(printed.history)
    assert first in parts or parts[-1] < first
    assert looking.survivors.sum() == 1


def test_what_is_kept_counts() -> None:
    seed = SPHERE.seed(0, 20, 3)
    instance = SPHERE.instance(20, seed)
    keeping = played(_Keeping().start(instance[0], BY_THE_PAPER), instance, seed)
    again = keeping.frame.estimate(keeping.tally.counts, keeping.tally.sums).clearance(
        np.array([keeping.leader])
    )[0]
    assert np.delete(again, keeping.leader).min() == pytest.approx(
        keeping.evidence[keeping.evidence < np.inf].max()
    )


def test_the_hardness_of_a_design_is_the_papers_formula() -> None:
    problem, theta = classic(3)
    weights = g_weights(problem, np.ones(problem.n_pairs))
    inverse = np.linalg.inv(problem.pairs.T @ (weights[:, None] * problem.pairs))
    best = problem.best_arm(theta)
    means = problem.pair_means(theta)
    differences = np.delete(problem.pairs[best] - problem.pairs, best, axis=0)
    gaps = np.delete(means[best] - means, best)
    expected = max(np.einsum("ij,jk,ik->i", differences, inverse, differences) / gaps**2)
    assert _hardness((problem, theta), weights) == pytest.approx(expected, rel=1e-4)


def test_the_table_of_the_documentation_is_printed_and_written(
    row: Diagnosis,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(why_rage, "STUDIED", [(SPHERE, 20)])
    rows = [asdict(row), asdict(replace(row, phases=row.phases + 1))]
    monkeypatch.setattr(Session, "map", lambda *_: rows)
    why_rage.why_rage(Session(runs=2, out=tmp_path))
    written = (tmp_path / "why-rage-summary.md").read_text(encoding="utf-8").splitlines()
    assert len(written) == 3
    cells = dict(zip(written[0].split(" | ")[1:], written[2].split(" | ")[1:], strict=True))
    assert written[2].startswith("| n = 20 |")
    assert (cells["RAGE"], cells["phases"]) == (f"{row.printed:,}", f"{row.phases + 0.5:.1f}")
    printed = capsys.readouterr().out
    assert all(heading in printed for heading in ("Static", "discarded", "n = 20"))
    assert len(pd.read_parquet(tmp_path / "why-rage.parquet")) == 2
