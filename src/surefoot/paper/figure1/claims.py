"""The paper's claims about its Figure 1, each held against our runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from surefoot.experiments.session.publication import Claim
from surefoot.paper.figure1.contenders import DELTA, ORACLE, RAGE, STATIC, Contender

CLOSE = 2.0  # the paper says "close" without a number
BEYOND_DOUBT = 2.0  # standard errors
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
        yield Claim(text, grows == wanted, numbers, _runs(runs))


def shared_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    static, rage = _ratios(runs, STATIC, ORACLE), _ratios(runs, RAGE, ORACLE)
    beside_static = _ratios(runs, RAGE, STATIC)
    yield _all_find_it(runs)
    yield Claim(
        "the oracle needs the fewest samples of the paper's three",
        bool(((static["ratio"] > 1) & (rage["ratio"] > 1)).all()),
        f"Static / Oracle {_each(static)}; RAGE / Oracle {_each(rage)}",
        _runs(runs),
    )
    yield Claim(
        "Robust RAGE beats Robust Static in every scenario",
        bool((beside_static["ratio"] < 1).all()),
        f"RAGE / Static {_each(beside_static)}",
        _runs(runs),
        _clear(beside_static, 1.0),
    )
    yield Claim(
        f"Robust RAGE comes close to the oracle (taken as: within a factor {CLOSE:g})",
        bool((rage["ratio"] <= CLOSE).all()),
        f"RAGE / Oracle {_each(rage)}",
        _runs(runs),
        _clear(rage, CLOSE),
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
    return Claim(text, not refuted, f"wrong in {count} runs each: {numbers}", _runs(runs))


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


def _runs(runs: pd.DataFrame) -> int:
    """Of each contender at each size."""
    return int(_of(runs, ORACLE).groupby("size").size().min())


def _ratios(runs: pd.DataFrame, one: Contender, other: Contender) -> pd.DataFrame:
    """One row per size: the ratio of mean samples, and its standard error to first order. Runs are
    taken in pairs, for both contenders meet the same instances.
    """
    samples = [
        _of(runs, who).pivot(index="run", columns="size", values="samples") for who in (one, other)
    ]
    shares = [table / table.mean() for table in samples]
    ratio = samples[0].mean() / samples[1].mean()
    return pd.DataFrame({"ratio": ratio, "error": ratio * (shares[0] - shares[1]).sem()})


def _clear(ratios: pd.DataFrame, most: float) -> bool:
    """Whether one ratio is above the most allowed beyond doubt, or all are below it so."""
    margin = (ratios["ratio"] - most) / ratios["error"]
    return bool((margin > BEYOND_DOUBT).any() or (margin < -BEYOND_DOUBT).all())


def _each(ratios: pd.DataFrame) -> str:
    rows = zip(ratios.index, ratios["ratio"], ratios["error"], strict=True)
    return ", ".join(f"{ratio:.2f}{_give_or_take(error)} ({size})" for size, ratio, error in rows)


def _give_or_take(error: float) -> str:
    return f" ± {error:.2f}" if math.isfinite(error) else " from one run"
