"""Algorithms side by side."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.peers import KnRsb
from surefoot.experiments import session as journal
from surefoot.experiments.instances import Instance, classic, random_robust, slippage
from surefoot.experiments.session import Interrupted
from surefoot.system.progress import JobProgress, JobsSnapshot, NoProgress

INSTANCES = {"random/4": random_robust(4, 3, 3, gap=0.5), "classic": classic(3, 0.5)}


def test_every_algorithm_runs_on_every_instance(tmp_path: Path) -> None:
    algorithms = {"PRIME": "prime", "static": sf.algorithms.RobustStatic(), "told": "oracle"}
    session = sf.Session(runs=3, out=tmp_path, processes=2)
    found = sf.compare(algorithms, INSTANCES, session=session)
    assert len(found.runs) == 3 * 2 * 3
    table = found.summary()
    assert table["instance"].tolist() == ["random/4"] * 3 + ["classic"] * 3
    assert table["algorithm"].tolist() == ["PRIME", "static", "told"] * 2
    assert (table["runs"] == 3).all()
    assert (table["certified"] == 3).all()
    assert (table["tenth"] <= table["mean"]).all()
    assert table["wrong_at_most"].tolist() == pytest.approx([0.708] * 6, abs=1e-3)
    by_name = table.set_index(["instance", "algorithm"])["mean"]
    assert by_name["random/4", "PRIME"] < by_name["random/4", "static"]
    assert found.chart().to_dict()["layer"]
    assert list(tmp_path.iterdir()) == []


def test_a_generator_of_instances_draws_one_for_each_run() -> None:
    met: list[Instance] = []

    def fresh(rng: np.random.Generator) -> Instance:
        met.append(random_robust(3, 2, 2, gap=0.8, rng=rng))
        return met[-1]

    algorithms = {"static": "robust-static", "oracle": "oracle"}
    found = sf.compare(algorithms, {"fresh": fresh, "fixed": classic(3, 0.6)}, runs=3)
    assert len(met) == 3
    assert len({problem.pairs.tobytes() for problem, _ in met}) == 3
    table = found.summary().set_index(["instance", "algorithm"])
    assert table["runs"].tolist() == [3] * 4
    oracle = found.runs[found.runs["algorithm"] == "oracle"]
    pulls = oracle.groupby("instance")["samples"].nunique()
    assert pulls["fresh"] == 3  # it is told the θ of each run's own instance
    assert pulls["fixed"] == 1
    again = sf.compare(algorithms, {"fresh": fresh}, runs=3).runs
    assert again["samples"].tolist() == found.runs["samples"].tolist()[:6]


def test_what_cannot_work_is_refused_before_any_run() -> None:
    with pytest.raises(sf.InputError, match="nothing to compare"):
        sf.compare([], INSTANCES)
    with pytest.raises(sf.InputError, match="a function of a generator that draws both"):
        sf.compare(["prime"], {"drawn": lambda rng: 7}, runs=1)
    with pytest.raises(sf.InputError, match="relies on the linear model"):
        sf.compare(["robust-rage"], {"SC": slippage(3, 2)}, misfit=math.inf)


class StoppedAfter:
    """Progress that presses Ctrl-C after a number of jobs."""

    def __init__(self, jobs: float) -> None:
        self.jobs, self.seen = jobs, list[JobsSnapshot]()

    def update(self, snapshot: JobsSnapshot) -> None:
        self.seen.append(snapshot)
        if snapshot.done >= self.jobs:
            raise KeyboardInterrupt

    def close(self) -> None: ...


def test_the_same_call_goes_on_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "code_digest", lambda: "the same")
    algorithms, stopping = ["prime", "robust-static"], StoppedAfter(3)
    with pytest.raises(Interrupted, match="3 jobs are finished and kept, 5 are left"):
        sf.compare(algorithms, few(), session=session(tmp_path, stopping))
    (unfinished,) = tmp_path.glob(f"{journal.FOLDER}/*.jsonl")
    kept = [json.loads(line)[1]["seconds"] for line in unfinished.read_text().splitlines()]
    going_on = StoppedAfter(math.inf)
    found = sf.compare(algorithms, few(), session=session(tmp_path, going_on))
    assert going_on.seen[0].done == len(kept) == 3
    assert set(kept) < set(found.runs["seconds"])  # a run made again would have taken another time
    whole = sf.compare(algorithms, few(), session=session(tmp_path / "whole", NoProgress()))
    assert found.runs["samples"].tolist() == whole.runs["samples"].tolist()
    assert not unfinished.exists()


def few() -> dict[str, Instance]:
    """An instance, made anew as by another program."""
    return {"random/4": random_robust(4, 3, 3, gap=0.5)}


def session(folder: Path, progress: JobProgress) -> sf.Session:
    return sf.Session(runs=4, out=folder, processes=1, progress=progress)


def test_a_zone_stands_beside_a_tolerance(tmp_path: Path) -> None:
    found = sf.compare(
        {"PRIME": "prime", "KN": KnRsb(zone=1.0)},
        {"SC": slippage(3, 2)},
        session=session(tmp_path, NoProgress()),
        noise=sf.Gaussian(),
        misfit=math.inf,
        tolerance=0.999,
        true_noise=2.0,
    )
    by_name = found.summary().set_index("algorithm")
    assert by_name["certified"].to_dict() == {"PRIME": 4, "KN": 0}
    assert found.runs["good"].sum() >= 7


def test_an_instance_without_its_truth_is_refused() -> None:
    problem, theta = INSTANCES["classic"]
    with pytest.raises(sf.InputError, match="'a' is a RobustProblem: give the problem"):
        sf.compare(["prime"], {"a": problem})
    with pytest.raises(sf.InputError, match="means is a problem"):
        sf.TableSimulator(problem, theta)
    with pytest.raises(sf.InputError, match="a ndarray is no problem"):
        sf.g_design(problem.pairs)
