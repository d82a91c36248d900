"""The paper's claims about its Figure 1, each held against our runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from surefoot.experiments.figure1.contenders import DELTA, ORACLE, RAGE, STATIC, Contender
from surefoot.experiments.session.publication import Claim

CLOSE = 2.0  # the paper says "close" without a number
LEVEL = 0.05  # of the tests for a trend and for too many errors


def irrelevant_dimensions_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    yield from shared_claims(runs)
    rage, static = _of(runs, RAGE), _of(runs, STATIC)
    beyond = rage.assign(samples=rage["samples"] / np.log(rage["pairs"] ** 2 / DELTA))
    for text, table, wanted in (
        ("Robust RAGE needs no more samples as irrelevant dimensions are added", rage, False),
        ("… beyond what the log(|Z|²/δ) in its threshold adds", beyond, False),
        ("Robust Static needs more samples as irrelevant dimensions are added", static, True),
    ):
        grows, numbers = _trend(table)
        yield Claim(text, grows == wanted, numbers)


def shared_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    oracle, static, rage = (_means(runs, contender) for contender in (ORACLE, STATIC, RAGE))
    yield _all_find_it(runs)
    yield Claim(
        "the oracle needs the fewest samples of the paper's three",
        bool(((oracle < static) & (oracle < rage)).all()),
        f"Static / Oracle {_spread(static / oracle)}, RAGE / Oracle {_spread(rage / oracle)}",
    )
    yield Claim(
        "Robust RAGE beats Robust Static in every scenario",
        bool((rage < static).all()),
        f"RAGE / Static {_each(rage / static)}",
    )
    yield Claim(
        f"Robust RAGE comes close to the oracle (taken as: within a factor {CLOSE:g})",
        bool((rage <= CLOSE * oracle).all()),
        f"RAGE / Oracle {_each(rage / oracle)}",
    )


def _all_find_it(runs: pd.DataFrame) -> Claim:
    paper = runs[runs["policy"] == "paper"]
    wrong = {
        str(label): int((~group["correct"]).sum())
        for label, group in paper.groupby("label", sort=False)
    }
    count = len(paper) // len(wrong)
    refuted = any(
        stats.binom.sf(errors - 1, count, DELTA) < LEVEL / len(wrong) for errors in wrong.values()
    )
    numbers = ", ".join(f"{label} {errors}" for label, errors in wrong.items())
    text = f"all identify the best arm (errors ≤ δ = {DELTA:g})"
    return Claim(text, not refuted, f"wrong in {count} runs each: {numbers}")


def _trend(runs: pd.DataFrame) -> tuple[bool, str]:
    """Whether log samples rise with log size: the slope over all runs, tested one-sided."""
    means = runs.groupby("size")["samples"].mean()
    first, last = means.index[0], means.index[-1]
    fit = stats.linregress(np.log(runs["size"]), np.log(runs["samples"]))
    slope, error = float(fit.slope), float(fit.stderr)
    p = float(stats.t.sf(slope / error, len(runs) - 2)) if error > 0 else float(slope <= 0)
    numbers = (
        f"samples ∝ size^{slope:.2f} ± {error:.2f} (p = {p:.2g}); mean × "
        f"{means[last] / means[first]:.2f}"
    )
    return p < LEVEL, f"{numbers} from {first} to {last}"


def _of(runs: pd.DataFrame, contender: Contender) -> pd.DataFrame:
    return runs[(runs["label"] == contender.label) & (runs["policy"] == contender.policy)]


def _means(runs: pd.DataFrame, contender: Contender) -> pd.Series[float]:
    return _of(runs, contender).groupby("size")["samples"].mean()


def _spread(ratios: pd.Series[float]) -> str:
    low, high = ratios.min(), ratios.max()
    return f"{low:.2f}" if math.isclose(low, high) else f"{low:.2f} … {high:.2f}"


def _each(ratios: pd.Series[float]) -> str:
    return ", ".join(f"{ratio:.2f} ({size})" for size, ratio in ratios.items())
