"""A question as the kernel takes it: its certifier, boundaries and conclusions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from surefoot.algorithms.settings import Settings
from surefoot.algorithms.verdict import Leads, Qualifying, StopReason, Verdict
from surefoot.arrays import Array
from surefoot.certify import (
    Boundary,
    Certifier,
    Limited,
    LimitedBoundary,
    LimitedCertifier,
    Question,
    Rows,
    WealthBoundary,
)
from surefoot.certify.walk import Walks
from surefoot.errors import InputError
from surefoot.lead import beats
from surefoot.noise.boundaries import boundary_by_starts
from surefoot.problem.measures import MOST_POINTS, Measure
from surefoot.problem.problem import RobustProblem

# the grid on which clocks that go on by themselves may stop, and its lowest boundary
GROWTH, POINTS, MIDDLE, RISE = 1.12, 150, 45, 1.0
# of δ, with limits: for comparing by the objective; for that of arms that are shown to qualify,
# where there is slack; for calling arms unfit, all limits together; for showing that arms qualify
SHARES = (0.5, 0.1, 0.15, 0.25)
SPENT = 0.999  # share of δ that planned steps spend: smaller ones may add
LARGEST_DELTA = 0.5  # beyond it, walks that stand still now and then cross more often
# offsets before the middle at which clocks begin that have a boundary of their own
STARTS = (29, 21, 15, 11, 7, 3, 0)


def question_of(
    problem: RobustProblem, measure: Measure, misfit: float, mixed: bool = False
) -> Question:
    """Return which arms are compared, by a measure.

    Args:
        mixed: whether the least of too many points may be sought among mixtures of pairs.
    """
    measured = measure.points(problem)
    if measured.most is not None and not mixed:
        raise InputError(
            f"{measure!r} has more than {MOST_POINTS:,} extreme points for an arm. PRIME finds the "
            "least of them by a sort if it knows the scale of the noise, noise=Gaussian(0.5) or "
            "SubGaussian(0.5), an upper bound of its standard deviation, without a model, limits "
            'or aim="beat baseline". Else give fewer perturbations, another share, or '
            'measure="mean" or "worst"'
        )
    points = Rows(measured.starts, measured.columns, measured.values)
    return Question(measured.offsets, points, problem.pairs, misfit, measured.most)


def certifier_for(problem: RobustProblem, settings: Settings, boundary: Boundary) -> Certifier:
    """Return the kernel for a question, with nothing seen yet."""
    n_pairs, delta, tolerance = problem.n_pairs, settings.delta, settings.tolerance
    scores = settings.noise.scores(n_pairs, not settings.modelled)
    sorts = scores.adds_up and math.isinf(settings.misfit) and not settings.limits
    sorts &= settings.aim != "beat baseline"
    question = question_of(problem, settings.measure, settings.misfit, mixed=sorts)
    if not settings.limits:
        return Certifier(question, scores, boundary, delta=delta, tolerance=tolerance)
    if not isinstance(boundary, LimitedBoundary):
        raise InputError("limits need boundaries of their own")
    limited = [
        Limited(
            name=limit.output,
            limit=limit.value,
            sign=limit.sign,
            slack=limit.slack,
            question=question_of(problem, limit.measure, settings.misfit),
            unfit=limit.margin_noise.scores_by_constant(n_pairs),
            fit=limit.shortfall_noise.scores_by_constant(n_pairs),
        )
        for limit in settings.limits
    ]
    return LimitedCertifier(question, scores, boundary, limited, delta=delta, tolerance=tolerance)


def clock_boundary(settings: Settings, middle: int = MIDDLE, rise: float = RISE) -> Boundary:
    """Return the boundary of a new run in which every arm's clock goes on by itself, on a grid.

    Args:
        middle: the point of the grid where the least evidence is enough.
        rise: by how much the squared boundary rises away from there, for each factor e of time.
    """
    noise = settings.noise
    if noise.evidence == "wealth" and not settings.modelled:
        return WealthBoundary(settings.delta)
    delta, times = SPENT * min(settings.delta, LARGEST_DELTA), _times()
    away = np.abs(np.arange(POINTS) - middle) * math.log(GROWTH)
    shape = tuple((rise * away).tolist())
    if noise.mixes:
        return noise.boundary(times, delta, shape)
    later = (middle - before for before in STARTS)
    starts = (0, *(start for start in later if 0 < start < POINTS))
    return boundary_by_starts(times, delta, shape, starts)


@lru_cache(maxsize=1)
def _times() -> tuple[float, ...]:
    return tuple((GROWTH ** np.arange(POINTS)).tolist())


def limited_boundary(settings: Settings, n_arms: int) -> LimitedBoundary:
    """Return the boundaries of a new run with limits: each certifier spends a share of δ."""
    limits, (objective, shown, unfit, fit) = settings.limits, SHARES
    strict = any(limit.slack for limit in limits)
    if not strict:
        objective += shown
    deltas = [objective * settings.delta, shown * settings.delta / n_arms]
    noises = [settings.noise, settings.noise]
    for limit in limits:
        deltas += [unfit * settings.delta / len(limits), fit * settings.delta / n_arms]
        noises += [limit.noise, limit.noise]
    parts: list[Boundary | None] = [
        clock_boundary(replace(settings, delta=delta, noise=noise, limits=()))
        for delta, noise in zip(deltas, noises, strict=True)
    ]
    if not strict:
        parts[1] = None
    return LimitedBoundary(parts, deltas)


def conclusion(
    kernel: Certifier, problem: RobustProblem, settings: Settings, leader: int
) -> tuple[StopReason, int] | None:
    """Return the reason to stop and the arm it holds for; None while the evidence is not enough.

    Args:
        leader: the arm that is preferred where several would do.
    """
    if settings.aim == "beat baseline" and settings.baseline is not None:
        baseline = problem.arm_names.index(settings.baseline)
        beaten = leader != baseline and beats(kernel, leader, baseline, settings.gain)
        return (StopReason.BEATS_BASELINE, leader) if beaten else None
    if isinstance(kernel, LimitedCertifier) and kernel.nobody:
        return StopReason.NONE_QUALIFIES, leader
    if not kernel.survivors.any():
        return StopReason.NO_SURVIVOR, leader
    winner = kernel.answer(leader)
    if winner is None:
        return None
    alone = kernel.survivors.sum() == 1
    return StopReason.IDENTIFIED if alone else StopReason.WITHIN_TOLERANCE, winner


def completed(
    verdict: Verdict, kernel: Certifier, problem: RobustProblem, settings: Settings
) -> Verdict:
    """Return a verdict with all that a kernel knows of its arm: how sure, how far ahead, and which
    arms keep limits. With limits arms are excluded by several kinds of evidence: nothing is said.
    """
    verdict = replace(verdict, qualifying=Qualifying.of(kernel))
    if settings.limits:
        return verdict
    arm, named = verdict.arm, settings.baseline
    baseline = None if named is None else problem.arm_names.index(named)
    if settings.aim != "beat baseline":
        verdict = replace(verdict, confidence_later=kernel.confidence(arm))
    elif baseline is not None and baseline != arm:
        return replace(verdict, leads_later=lambda: Leads.of_baseline(kernel, arm, baseline))
    return replace(verdict, leads_later=lambda: Leads.of(kernel, arm, baseline))


def in_one_unit(walks: Walks, walk: Array) -> tuple[float, Array]:
    """Return the lowest boundary of any arm's clock, and (n_arms,) evidence held against it."""
    begun = walks.places >= 0
    times = walks.boundary.times[walks.places[begun]]
    lowest = float((walks.levels[begun] / np.sqrt(times)).min())
    return lowest, np.where(begun, walk * lowest / walks.levels, 0.0)
