"""How PRIME chooses where all that is asked is an arm that is as good as the baseline.

One arm challenges the baseline: the one that is expected to need the fewest pulls. Another takes
its place only where it would need half as many, for every challenger begins anew.
"""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.verdict import StopReason
from surefoot.plan.limited import (
    FIRST,
    GROWTH,
    Output,
    Task,
    best_shares,
    counts_by,
    positive,
    task_of,
    uses_of,
)

LOYAL = 0.5  # of its pulls, that a challenger must need at most to take another's place


def propose(past: Past) -> Proposal | StopReason | None:
    """Return the next phase: first some pulls of every pair, then claims; None: to wait."""
    kernel, counts, settings = past.certifier, past.tally.counts, past.settings
    if (counts == 0).any():
        if kernel.open:
            return None
        first = np.where(counts == 0, FIRST, 0)
        return Proposal(first) if first.sum() <= past.remaining else StopReason.BUDGET
    assert settings.baseline is not None
    baseline = past.problem.arm_names.index(settings.baseline)
    output = Output(kernel, past.tally.averages, positive(past.variances), counts)
    if not output.can_go_on[baseline]:
        return None if kernel.open else StopReason.LOOKS_SPENT
    claims = _challenge(past, output, baseline)
    shares = best_shares(np.array([task.weights for task in claims]))
    wanted = max(GROWTH * past.tally.samples, float(settings.least_pulls), 1.0)
    phase, batches, shared = counts_by(past, [output], shares, min(wanted, past.remaining))
    if phase.sum() > past.remaining:
        return StopReason.BUDGET
    return Proposal(phase, batches, shared, *uses_of([output], 0, claims, phase, batches))


def _challenge(past: Past, output: Output, baseline: int) -> list[Task]:
    """Return the claims of the arm that is expected to beat the baseline by the fewest pulls."""
    best, fewest = list[Task](), np.inf
    for arm in range(past.problem.n_arms):
        if arm == baseline:
            continue
        claims = _claims(past, output, arm, baseline)
        shares = best_shares(np.array([task.weights for task in claims]))
        needed = max(float((task.weights / shares).sum()) for task in claims)
        needed *= LOYAL if arm == past.led else 1.0
        if needed < fewest:
            best, fewest = claims, needed
    return best


def _claims(past: Past, output: Output, arm: int, baseline: int) -> list[Task]:
    offsets, means = output.question.offsets, output.point_means
    first, last = offsets[baseline : baseline + 2]
    point, gain = int(first + means[first:last].argmin()), past.settings.gain
    own = range(offsets[arm], offsets[arm + 1])
    return [task_of(output, 0, (arm, each), (baseline, point), -gain, held=False) for each in own]
