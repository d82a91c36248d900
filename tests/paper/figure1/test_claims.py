from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from surefoot.experiments.publication import Claim
from surefoot.paper.figure1 import BY_THE_PAPER, IRRELEVANT, SPHERE, claims

SIZES = (5, 10, 20)


def table(
    oracle: float, static: float, rage: float, growth: tuple[float, float] = (0.0, 0.0)
) -> pd.DataFrame:
    """Runs whose samples scatter by a few percent round level · size^growth (static's and rage's
    growth); the readings agree.
    """
    rng = np.random.default_rng(1)
    levels = {
        "oracle": (oracle, 0.0),
        "robust-static": (static, growth[0]),
        "robust-rage": (rage, growth[1]),
    }
    rows = []
    for entrant, size, run in itertools.product(BY_THE_PAPER, SIZES, range(20)):
        level, power = levels[entrant.algorithm]
        samples = level * size**power * rng.uniform(0.95, 1.05)
        rows.append(
            {
                "label": entrant.label,
                "policy": "paper",
                "size": size,
                "pairs": 5 * size,
                "run": run,
                "samples": samples,
                "focused": 0.01 * samples,
                "lower_bound": 10.0,
                "correct": True,
            }
        )
    return pd.DataFrame(rows)


def found(runs: pd.DataFrame, words: str, sphere: bool = False) -> Claim:
    """The first claim with these words: that of the reading with data kept."""
    panel = SPHERE if sphere else IRRELEVANT
    return next(claim for claim in claims(panel, runs, 0.05) if words in claim.text)


def verdict(runs: pd.DataFrame, words: str, sphere: bool = False) -> str:
    return found(runs, words, sphere).verdict


def test_everything_can_hold() -> None:
    level = table(100, 180, 150, growth=(0.0, 0.0))
    others = [claim for claim in claims(SPHERE, level, 0.05) if "identify" not in claim.text]
    assert [claim.text for claim in others if claim.verdict != "holds"] == []
    grows = table(100, 30, 150, growth=(0.7, 0.0))
    assert verdict(grows, "Robust Static requires more") == "holds"
    assert verdict(grows, "quickly focuses") == "holds"
    assert verdict(grows, "does not require additional") == "holds"


def test_each_claim_can_fail() -> None:
    assert verdict(table(100, 90, 150), "highest sample efficiency") == "fails"
    assert verdict(table(100, 1000, 90), "highest sample efficiency") == "fails"
    assert verdict(table(100, 140, 150), "outperforms Robust Static") == "fails"
    assert verdict(table(100, 1000, 250), "comes close", sphere=True) == "fails"
    assert verdict(table(100, 1000, 150), "perform similarly") == "fails"
    assert verdict(table(100, 1000, 150, growth=(0.0, 0.3)), "does not require") == "fails"
    assert verdict(table(100, 1000, 150), "Robust Static requires more") == "undecided"
    assert verdict(table(100, 1000, 150, growth=(1.0, 1.0)), "adaptive algorithm") == "fails"
    late = table(100, 1000, 150)
    assert verdict(late.assign(focused=late["samples"] / 2), "quickly focuses") == "fails"
    assert verdict(table(100, 100, 150), "varies significantly") == "undecided"


def test_one_scenario_is_enough_to_fail() -> None:
    runs = table(100, 1000, 150)
    worse = (runs["size"] == 10) & (runs["label"] == "Robust RAGE")
    runs.loc[worse, "samples"] *= 10
    claim = found(runs, "outperforms")
    assert claim.verdict == "fails"
    assert "1.5" in claim.numbers
    assert "(10)" in claim.numbers


def test_nothing_is_decided_by_one_run_or_a_few() -> None:
    runs = table(100, 140, 150)
    alone = found(runs[runs["run"] == 0], "outperforms")
    assert alone.verdict == "undecided"
    assert "from one run" in alone.numbers
    assert found(runs[runs["run"] < 19], "outperforms").verdict == "undecided"
    assert found(runs, "outperforms").verdict == "fails"


def test_what_is_within_two_standard_errors_is_not_decided() -> None:
    assert verdict(table(100, 150, 150), "outperforms") == "undecided"


def test_ratios_come_with_their_standard_errors() -> None:
    runs = table(100, 140, 150)
    rage, static = (
        runs[(runs["label"] == label) & (runs["size"] == 5)]["samples"]
        for label in ("Robust RAGE", "Robust Static")
    )
    ratio = rage.mean() / static.mean()
    paired = rage.to_numpy() / rage.mean() - static.to_numpy() / static.mean()
    error = ratio * paired.std(ddof=1) / math.sqrt(len(paired))
    assert f"{ratio:.2f} ± {error:.2f} (5)" in found(runs, "outperforms").numbers


@pytest.mark.parametrize(("wrong", "expected"), [(0, "undecided"), (5, "undecided"), (12, "fails")])
def test_errors_are_tested_not_counted(wrong: int, expected: str) -> None:
    runs = table(100, 1000, 150)
    of_static = runs.index[runs["label"] == "Robust Static"]
    runs.loc[of_static[:wrong], "correct"] = False  # 5 of 60 at 5 %: well possible
    assert verdict(runs, "identify the robust best arm") == expected


def test_no_error_in_many_runs_is_enough() -> None:
    runs = table(100, 1000, 150)
    many = pd.concat([runs.assign(run=runs["run"] + 20 * k) for k in range(3)])
    assert verdict(many, "identify the robust best arm") == "holds"
