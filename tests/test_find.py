"""`find`: a function, arms and perturbations in; the answer out."""

from __future__ import annotations

import gc
import math
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.study import StudyPaused
from surefoot.study.file.verified import certificate_of
from tests.study.cluster import Cluster

ARMS = [{"nurses": n, "doctors": 12 - n} for n in range(3, 8)]
TROUBLE: dict[str, Any] = {"as planned": {}, "flu": {"demand": "+20%"}, "ill": {"nurses": -1}}
ASKED: dict[str, Any] = {"environment": {"demand": 1.0}, "minimize": True, "seed": 1}


def clinic(nurses: int, doctors: int, demand: float, rng: np.random.Generator) -> float:
    """The waiting time of a day: of the staffs, six and six is the best when things go wrong."""
    return 120 * demand / (nurses + doctors) + 2 * (nurses - 5 * demand) ** 2 + rng.normal()


def cost(arm: dict[str, Any], change: dict[str, Any]) -> float:
    """The mean of `clinic` when things go wrong."""
    demand = 1.2 if "demand" in change else 1.0
    nurses = arm["nurses"] + change.get("nurses", 0)
    return 120 * demand / (nurses + arm["doctors"]) + 2 * (nurses - 5 * demand) ** 2


def test_the_answer_is_the_arm_with_the_smallest_worst_cost() -> None:
    answer = sf.find(clinic, ARMS, TROUBLE, **ASKED)
    worst = [max(cost(arm, change) for change in TROUBLE.values()) for arm in ARMS]
    best = ARMS[int(np.argmin(worst))]
    assert answer.certified
    assert not answer.interrupted
    assert answer.best == best | {"demand": 1.0}
    assert answer.value == pytest.approx(min(worst), abs=1.0)
    table = answer.table()
    assert table.index.names == ["arm", "perturbation"]
    assert len(table) == 15
    assert table["pulls"].sum() == answer.pulls
    known = table[np.isfinite(table["low"])]
    assert (known["low"] <= known["mean"]).all()
    assert (known["mean"] <= known["high"]).all()
    assert table.loc[(answer.arm, answer.worst), "worst"]
    assert answer.sentence in repr(answer)
    assert answer.verify().certified


def test_arms_and_perturbations_come_in_many_forms(tmp_path: Path) -> None:
    """Lists, grids, data frames, tables of pairs and CSV files ask the same question."""

    def first(simulate: Any, *tables: Any, **asked: Any) -> list[tuple[Any, ...]]:
        seen: list[tuple[Any, ...]] = []

        def noted(nurses: int, doctors: int, rng: np.random.Generator) -> float:
            seen.append((nurses, doctors))
            return float(rng.normal())

        sf.find(noted, *tables, budget=20, seed=1, **asked)
        assert all(isinstance(nurses, int) for nurses, _ in seen)
        return sorted(set(seen))

    arms = [{"nurses": n, "doctors": d} for n in (3, 4) for d in (5, 6)]
    rows = [{"name": "as planned"}, {"name": "ill", "nurses": -1}]
    wanted = sorted({(a["nurses"] - ill, a["doctors"]) for a in arms for ill in (0, 1)})
    named = {row["name"]: {k: v for k, v in row.items() if k != "name"} for row in rows}
    grid = {"nurses": range(3, 5), "doctors": np.array([5, 6])}
    pd.DataFrame(arms).to_csv(tmp_path / "arms.csv", index=False)
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    problem = sf.RobustProblem.from_lists(arms, named)
    problem.to_csv(tmp_path / "pairs.csv")
    for tables in (
        (arms, named),
        (grid, rows),
        (pd.DataFrame(arms), pd.DataFrame(rows)),
        (tmp_path / "arms.csv", str(tmp_path / "rows.csv")),
        (problem,),
        (problem.to_frame(),),
        ({f"team {k}": arm for k, arm in enumerate(arms)}, named),
        (tmp_path / "pairs.csv",),
    ):
        assert first(clinic, *tables) == wanted


def test_a_function_is_given_what_it_names() -> None:
    arms, seen = [{"a": 1, "kind": "x"}, {"a": 2, "kind": "y"}], {}

    def everything(a, kind, rng, seed, stream, pull, arm, perturbation, scale=1.0):
        seen.update(locals())
        return a + rng.normal()

    def others(rng, **parameters):
        return parameters["a"] + rng.normal()

    def alone(p):
        return {**p}["a"] + p.rng().normal()

    def whole(a, rng, **_):
        return a + rng.normal()

    answers = [sf.find(function, arms, seed=3) for function in (everything, others, alone, whole)]
    assert len({answer.pulls for answer in answers}) == 1
    assert all(answer.best == {"a": 2, "kind": "y"} for answer in answers)
    assert seen["seed"] == seen["pull"].seed
    assert seen["scale"] == 1.0
    assert seen["stream"](1).normal() == seen["pull"].stream(1).normal()
    assert (seen["arm"], seen["perturbation"]) == (seen["pull"].arm, "none")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda nurse, doctors, demand, rng: 1.0, "needs 'nurse'.*did you mean 'nurses'"),
        (lambda nurses, rng: 1.0, "takes nurses, rng, but not 'doctors'.*\\*\\*others"),
        (lambda: 1.0, "takes nothing, but not 'nurses'"),
        (3, "cannot be called: give a function such as simulate\\(nurses, doctors, demand, rng\\)"),
    ],
)
def test_a_wrong_signature_says_the_remedy(function: Any, said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        sf.find(function, ARMS, TROUBLE, **ASKED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arms": {"nurses": 3}}, "nurses is 3: in a grid"),
        ({"arms": [[3, 4]]}, "arms: entry 1 is \\[3, 4\\]: give a dictionary"),
        ({"perturbations": [[0, 1]]}, "perturbations: entry 1 is \\[0, 1\\]: give a dictionary"),
        ({"perturbations": {"flu": 0.2}}, "'flu' is 0.2: give what it changes"),
        ({"perturbations": {"flu": {"demnd": 1}}}, "did you mean 'demand'"),
        ({"confidence": 95}, "confidence=95 is no probability"),
        ({"baseline": {"nurses": 9}}, "{'nurses': 9} is none of the arms"),
        ({"baseline": {"demand": 1.0}}, "is 5 of the arms"),
        ({"workers": 2, "dask": "tcp://here:1"}, "choose one"),
        ({"arms": "no.csv"}, "there is no file 'no.csv'"),
        ({"arms": pd.DataFrame({"arm": ["a"], "nurses": [1]})}, "has both arm and perturbation"),
        ({"tolerence": 1}, "no option 'tolerence': did you mean 'tolerance'"),
        ({"direction": "minimize"}, "give minimize=True instead"),
        ({"hurry": True}, "no option 'hurry': there are"),
        ({"delta": 0.05}, "give confidence=0.95"),
        ({"executor": "threads"}, "give workers=pool instead"),
    ],
)
def test_bad_input_says_the_remedy(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        sf.find(clinic, **({"arms": ARMS, "perturbations": TROUBLE} | ASKED | given))


def test_identify_names_find() -> None:
    problem = sf.RobustProblem.from_lists(ARMS, TROUBLE, environment={"demand": 1.0})
    with pytest.raises(sf.InputError, match=r"sf\.find\(function, problem\)"):
        sf.identify(problem, clinic, delta=0.05, noise=sf.Gaussian())


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    """The same call goes on, with the same answer; another question is refused."""
    file = tmp_path / "clinic.db"
    some = sf.find(clinic, ARMS, TROUBLE, file=file, budget=60, **ASKED)
    assert not some.certified
    assert some.reason.name == "BUDGET"
    rest = sf.find(clinic, ARMS, TROUBLE, file=file, **ASKED)
    again = sf.find(lambda nurses, doctors, demand: 1 / 0, ARMS, TROUBLE, file=file, **ASKED)
    assert rest.certified
    assert again.sentence == rest.sentence
    with pytest.raises(sf.InputError, match="another question: baseline, tolerance changed"):
        sf.find(clinic, ARMS, TROUBLE, file=file, tolerance=0.1, baseline=ARMS[0], **ASKED)


def test_what_the_function_raises_is_the_cause(tmp_path: Path) -> None:
    def broken(nurses: int, doctors: int, demand: float) -> float:
        return nurses / (demand - 1)

    with pytest.raises(StudyPaused, match=r"perturbation 'as planned'.*failed:\n") as error:
        sf.find(broken, ARMS, {"as planned": {}}, environment={"demand": 1})
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert "go on with" not in str(error.value)
    with pytest.raises(StudyPaused, match=r"go on with the same call of sf\.find"):
        sf.find(broken, ARMS, environment={"demand": 1}, file=tmp_path / "broken.db")


def test_the_same_numbers_again_and_again_are_no_answer() -> None:
    answer = sf.find(lambda nurses, doctors: nurses, ARMS)
    assert not answer.certified
    assert answer.reason.name == "IDENTICAL_REPLICATES"


def test_processes_need_random_streams_and_give_the_same_answer() -> None:
    here = sf.find(clinic, ARMS, TROUBLE, **ASKED)
    there = sf.find(clinic, ARMS, TROUBLE, workers=2, **ASKED)
    assert there.sentence == here.sentence
    assert (there.table() == here.table()).all().sum() >= 4
    with pytest.raises(sf.InputError, match="takes neither rng nor seed"):
        sf.find(lambda nurses, doctors: nurses, ARMS, workers=2)


def slow(nurses: float, doctors: float, rng: np.random.Generator) -> float:
    if nurses == 1:
        time.sleep(60)
    return float(nurses + doctors + rng.normal())


def test_a_call_that_takes_too_long_fails() -> None:
    asked: dict[str, Any] = {"budget": 40, "seed": 1}
    arms = [{"nurses": 1, "doctors": 2}, {"nurses": 2, "doctors": 2}]
    with pytest.raises(StudyPaused, match=r"failed:\nTimeoutError: .* time limit of 0\.2 s"):
        sf.find(slow, arms, workers=2, retries=0, time_limit=0.2, **asked)
    answer = sf.find(slow, arms, workers=2, time_limit=0.2, on_failure=-10.0, **asked)
    assert answer.arm == "nurses=2"
    quick = sf.find(clinic, ARMS, TROUBLE, workers="threads", time_limit=60, **ASKED)
    assert quick.sentence == sf.find(clinic, ARMS, TROUBLE, **ASKED).sentence


@pytest.mark.parametrize("limit", [0, -1.0, math.nan, math.inf, "soon"])
def test_a_time_limit_is_a_number_of_seconds(limit: Any) -> None:
    with pytest.raises(sf.InputError, match="must be a number of seconds above 0"):
        sf.find(clinic, ARMS, TROUBLE, workers=1, time_limit=limit, **ASKED)


def test_a_time_limit_needs_workers() -> None:
    with pytest.raises(sf.InputError, match=r"time_limit=5 needs workers.*give workers=1"):
        sf.find(clinic, ARMS, TROUBLE, time_limit=5, **ASKED)


def test_a_cluster_gives_the_same_answer(tmp_path: Path) -> None:
    """By the address of its scheduler, or by a client, which stays open."""
    here = sf.find(clinic, ARMS, TROUBLE, **ASKED)
    with Cluster(tmp_path, workers=2) as cluster, cluster.client() as client:
        there = sf.find(clinic, ARMS, TROUBLE, dask=cluster.address, **ASKED)
        again = sf.find(clinic, ARMS, TROUBLE, dask=client, **ASKED)
        assert client.status == "running"
    assert there.sentence == again.sentence == here.sentence
    assert there.table().equals(here.table())
    assert there.verify().certified


def test_ctrl_c_gives_the_answer_so_far(tmp_path: Path) -> None:
    calls = 0

    def tired(nurses: int, doctors: int, demand: float, rng: np.random.Generator) -> float:
        nonlocal calls
        calls += 1
        if calls == 40:
            signal.raise_signal(signal.SIGINT)
        return clinic(nurses, doctors, demand, rng)

    assert threading.current_thread() is threading.main_thread()
    answer = sf.find(tired, ARMS, TROUBLE, **ASKED)
    assert answer.interrupted
    assert not answer.certified
    assert 0 < answer.pulls <= calls
    assert repr(answer).startswith("Interrupted: without a file, the same call begins anew.")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    calls, file = 0, tmp_path / "clinic.db"
    kept = sf.find(tired, ARMS, TROUBLE, file=file, **ASKED)
    assert repr(kept).startswith(f"Interrupted: the same call goes on with {file}.")
    with sf.StudyReader(file) as reader, pytest.raises(sf.InputError, match="Go on with the same"):
        certificate_of(reader)


def test_no_file_is_made_before_the_scheduler_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.executors.DASK_PATIENCE", "1s")
    file = tmp_path / "clinic.db"
    with pytest.raises(sf.InputError, match="no Dask scheduler answers"):
        sf.find(clinic, ARMS, TROUBLE, file=file, dask="nonsense", **ASKED)
    assert not file.exists()


def test_an_answer_is_kept_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = sf.find(clinic, ARMS, TROUBLE, **ASKED)
    assert capsys.readouterr() == ("", "")  # nothing in a log
    page = answer.report(tmp_path / "clinic.html").read_text()
    assert answer.arm in page
    answer.save(tmp_path / "clinic.db")
    assert sf.verify(tmp_path / "clinic.db").certified
    assert "cost" in str(answer.plot().to_dict())
    with pytest.raises(sf.InputError, match=r"a report is \.html"):
        answer.report(tmp_path / "clinic.pdf")
    folder = answer.file.parent
    del answer
    gc.collect()
    assert not folder.exists()
