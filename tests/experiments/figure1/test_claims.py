from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from surefoot.paper.figure1 import irrelevant_dimensions_claims, shared_claims

SIZES = (5, 10, 20)


def table(
    oracle: float, static: float, rage: float, growth: tuple[float, float] = (0.0, 0.0)
) -> pd.DataFrame:
    """Runs whose samples scatter by a few percent round level · size^growth (static's and rage's
    growth).
    """
    rng = np.random.default_rng(1)
    levels = {
        "Oracle": (oracle, 0.0),
        "Robust Static": (static, growth[0]),
        "Robust RAGE": (rage, growth[1]),
    }
    rows = [
        {
            "label": label,
            "policy": policy,
            "size": size,
            "pairs": 5 * size,
            "run": run,
            "samples": (1.0 if policy == "paper" else 1e6)
            * level
            * size**power
            * rng.uniform(0.95, 1.05),
            "correct": True,
        }
        for (label, (level, power)), size, run, policy in itertools.product(
            levels.items(), SIZES, range(20), ("paper", "valid")
        )
    ]
    return pd.DataFrame(rows)


def verdicts(runs: pd.DataFrame) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in irrelevant_dimensions_claims(runs)}


def verdict(runs: pd.DataFrame, words: str) -> bool:
    (holds,) = [holds for text, holds in verdicts(runs).items() if words in text]
    return holds


def test_everything_can_hold() -> None:
    assert all(verdicts(table(100, 1000, 150, growth=(1.0, 0.0))).values())


def test_each_claim_can_fail() -> None:
    assert not verdict(table(100, 90, 150), "fewest samples")
    assert not verdict(table(100, 1000, 90), "fewest samples")
    assert not verdict(table(100, 140, 150), "beats Robust Static")
    assert not verdict(table(100, 1000, 250), "close to the oracle")
    assert not verdict(table(100, 1000, 150, growth=(0.0, 0.3)), "RAGE needs no more")
    assert not verdict(table(100, 1000, 150, growth=(0.0, 1.0)), "beyond what the log")
    assert not verdict(table(100, 1000, 150), "Static needs more")


def test_one_scenario_is_enough_to_fail() -> None:
    runs = table(100, 1000, 150)
    worse = (runs["size"] == 10) & (runs["label"] == "Robust RAGE") & (runs["policy"] == "paper")
    runs.loc[worse, "samples"] *= 10
    (claim,) = [claim for claim in shared_claims(runs) if "beats" in claim.text]
    assert not claim.holds
    assert "1.5" in claim.numbers
    assert "(10)" in claim.numbers


def test_nothing_is_said_flatly_of_few_runs() -> None:
    runs = table(100, 140, 150)
    few = [claim for claim in shared_claims(runs[runs["run"] < 3]) if "beats" in claim.text]
    assert few[0].verdict == "too few runs to say (it does not hold in these 3)"
    enough = [claim for claim in shared_claims(runs) if "beats" in claim.text]
    assert enough[0].verdict == "does not hold"


def test_what_is_within_its_errors_is_not_decided() -> None:
    runs = table(100, 150, 150)
    (claim,) = [claim for claim in shared_claims(runs) if "beats" in claim.text]
    assert claim.verdict.startswith("too close to say")


def test_ratios_come_with_their_standard_errors() -> None:
    runs = table(100, 140, 150)
    (claim,) = [claim for claim in shared_claims(runs) if "beats" in claim.text]
    rage, static = (
        runs[(runs["label"] == label) & (runs["policy"] == "paper") & (runs["size"] == 5)][
            "samples"
        ]
        for label in ("Robust RAGE", "Robust Static")
    )
    ratio = rage.mean() / static.mean()
    paired = rage.to_numpy() / rage.mean() - static.to_numpy() / static.mean()
    error = ratio * paired.std(ddof=1) / np.sqrt(len(paired))
    assert f"{ratio:.2f} ± {error:.2f} (5)" in claim.numbers
    alone = runs[runs["run"] == 0]
    assert all("from one run" in c.numbers for c in shared_claims(alone) if "/" in c.numbers)


def test_errors_are_tested_not_counted() -> None:
    runs = table(100, 1000, 150)
    of_static = runs.index[(runs["label"] == "Robust Static") & (runs["policy"] == "paper")]
    runs.loc[of_static[:5], "correct"] = False  # 5 of 60 at 5 %: well possible
    assert verdict(runs, "identify the best arm")
    runs.loc[of_static[:12], "correct"] = False
    assert not verdict(runs, "identify the best arm")
