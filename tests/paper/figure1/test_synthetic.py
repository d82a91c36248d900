from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.experiments.session import Session
from surefoot.paper.figure1 import (
    BY_THE_PAPER,
    ENTRANTS,
    IRRELEVANT,
    PAPER,
    SPHERE,
    VALID,
    Panel,
    Variation,
    _bounds,
    _run_table,
    figure,
    printed,
    run_once,
    summary,
)

ASKED = {key: value for key, value in asdict(PAPER).items() if key != "sizes"}
SMALL = {
    "irrelevant-dimensions": replace(IRRELEVANT, sizes=(5,)),
    "unit-sphere": replace(SPHERE, sizes=(10, 20)),
}


def runs_of(experiment: Panel, out: Path, processes: int, runs: int = 2) -> pd.DataFrame:
    with Session(runs=runs, seed=3, out=out, processes=processes) as session:
        return _run_table(session, experiment, Variation(prime=0))


def test_the_table_is_the_same_to_the_bit_on_any_number_of_workers(tmp_path: Path) -> None:
    one, two = (runs_of(SMALL["unit-sphere"], tmp_path / str(count), count) for count in (1, 2))
    pd.testing.assert_frame_equal(
        one.drop(columns="seconds"), two.drop(columns="seconds"), check_exact=True
    )
    assert len(one) == 2 * 2 * len(BY_THE_PAPER + VALID)
    # one instance for all contenders
    assert one.groupby(["size", "run"])["seed"].nunique().eq(1).all()
    assert one["seed"].nunique() == 4


@pytest.mark.parametrize("experiment", SMALL.values(), ids=SMALL)
def test_a_row_is_replayed_from_its_seed(experiment: Panel) -> None:
    size = experiment.sizes[0]
    seed = experiment.seed(3, size, 1)
    rows = run_once(experiment.name, size, 1, seed, ASKED)
    instance = (IRRELEVANT if experiment.name == IRRELEVANT.name else SPHERE).instance(size, seed)
    for contender, row in zip(ENTRANTS, rows, strict=True):
        again = contender.run(instance, row["seed"], PAPER)
        assert {**row, "seconds": 0} == {**row, **again, "seconds": 0}
        assert row["certified"]


def test_every_run_has_a_fresh_sphere_and_every_experiment_its_own_seeds() -> None:
    seeds = {
        e.seed(0, size, run) for e in (IRRELEVANT, SPHERE) for size in (10, 20) for run in range(3)
    }
    assert len(seeds) == 12
    one, two = (SPHERE.instance(10, SPHERE.seed(0, 10, run))[0] for run in range(2))
    assert not np.allclose(one.pairs[0], two.pairs[0])
    assert SPHERE.instance(10, 5)[0].pairs.tobytes() == SPHERE.instance(10, 5)[0].pairs.tobytes()


def test_the_settings_are_the_papers() -> None:
    assert IRRELEVANT.sizes == (5, 10, 15, 20, 25, 30)
    assert SPHERE.sizes == (10, 20, 50, 100, 200)
    problem, _ = SPHERE.instance(20, 1)
    assert (problem.n_arms, problem.dimension, problem.n_pairs) == (20, 10, 2 + 18 * 5)
    assert [c.policy for c in ENTRANTS[:3]] == ["paper"] * 3


def test_the_summary_compares_with_the_papers_oracle() -> None:
    rows = [
        {
            "size": 5,
            "label": label,
            "policy": policy,
            "samples": samples,
            "correct": correct,
            "certified": True,
        }
        for label, policy, samples, correct in [
            ("Oracle", "paper", 10, True),
            ("Oracle", "paper", 30, True),
            ("Oracle", "valid", 5, True),
            ("Oracle", "valid", 5, False),
            ("PRIME", "valid", 8, False),
            ("PRIME", "valid", 12, False),
        ]
    ]
    runs = [row | {"run": k % 2} for k, row in enumerate(rows)]
    table = summary(pd.DataFrame(runs).assign(seconds=0.1))
    assert table["ratio"].tolist() == [1.0, 0.25, 0.5]
    assert table["errors"].tolist() == [0, 1, 2]
    assert table["deviation"][0] == pytest.approx(np.sqrt(200))
    assert table["error"][0] == pytest.approx(10)
    limit = _bounds(pd.DataFrame(rows).assign(lower_bound=[2.0, 2.0, 2.0, 4.0, 4.0, 4.0]))
    shown = printed(SPHERE, table, limit)
    assert "| Oracle, valid | 5 ± 0 (0.25) | 1 of 2 |" in shown.markdown()
    assert "| lower bound | 3 | – |" in shown.markdown()
    assert r"Oracle, valid & 5 $\pm$ 0 (0.25) & 1 of 2 \\" in shown.latex()
    assert [any("prime" in root for root in roots) for roots in shown.roots] == [
        False,
        False,
        True,
        False,
    ]
    chart = figure(SPHERE, table, limit).to_dict()
    values = (
        chart["data"]["values"]
        if "values" in chart["data"]
        else next(iter(chart["datasets"].values()))
    )
    assert [(row["mean"], row["low"], row["high"]) for row in values] == [
        (20.0, pytest.approx(10.0), pytest.approx(30.0)),
        (5.0, 5.0, 5.0),
        (10.0, pytest.approx(8.0), pytest.approx(12.0)),
        (3.0, 3.0, 3.0),
    ]
    assert values[-1]["series"] == "lower bound"


def test_a_run_with_other_constants_is_another_run() -> None:
    seed = SPHERE.seed(0, 10, 0)
    usual = run_once(SPHERE.name, 10, 30, seed, ASKED)
    other = run_once(SPHERE.name, 10, 30, seed, ASKED | {"gamma": 2.0, "epsilon": 1.0})
    same = {"Oracle", "Oracle, phases anew"}
    for row, again in zip(usual, other, strict=True):
        assert (row["samples"] == again["samples"]) == (row["label"] in same)
