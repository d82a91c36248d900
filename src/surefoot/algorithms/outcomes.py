"""What an outcome must be to answer the phase that was asked for: every check of what is told."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.settings import Settings
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome, Phase


def answered(
    phase: Phase | None, outcome: Outcome, problem: RobustProblem, settings: Settings
) -> Phase:
    """The phase that waits, if this is an outcome of it."""
    if phase is None:
        raise InputError(
            "no phase is waiting for an outcome: call next_phase() first, and "
            "update() once for each phase"
        )
    if outcome.phase != phase.index:
        raise InputError(
            f"this outcome is of phase {outcome.phase}, but phase {phase.index} is waiting: "
            "outcomes come in order, each once"
        )
    _refuse_unusable(phase, outcome, problem)
    settings.noise.refuse_impossible(outcome)
    for limit in settings.limits:
        if limit.output not in outcome.others:
            raise InputError(
                f"the outcome has no {limit.output!r}, which has a limit: make it with "
                "Outcome.from_rewards(phase, ..., others={...}), by the names of outputs"
            )
        other = outcome.others[limit.output]
        _refuse_unusable(phase, other, problem)
        limit.noise.refuse_impossible(other)
    return phase


def _refuse_unusable(phase: Phase, outcome: Outcome, problem: RobustProblem) -> None:
    _refuse_other_pulls(phase, outcome)
    _refuse_impossible_rewards(outcome, problem)
    _refuse_other_batches(phase, outcome)


def _refuse_other_pulls(phase: Phase, outcome: Outcome) -> None:
    shapes = {name: getattr(outcome, name).shape for name in ("counts", "sums", "scatter")}
    if set(shapes.values()) != {phase.counts.shape}:
        given = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
        raise InputError(
            f"the outcome has {given}, but the problem has {len(phase.counts)} pairs: "
            "give one entry for each pair"
        )
    if (outcome.counts != phase.counts).any():
        raise InputError(
            f"phase {phase.index} asked for other pulls than the outcome holds: "
            "tell exactly the pulls that next_phase() asked for"
        )


def _refuse_other_batches(phase: Phase, outcome: Outcome) -> None:
    wanted = (phase.batches, len(phase.counts))
    if phase.batches and outcome.batch_sums.shape != wanted:
        raise InputError(
            f"phase {phase.index} has {phase.batches} batches, but the outcome has sums of "
            f"{len(outcome.batch_sums)}: this noise model needs them; make the outcome with "
            "Outcome.from_rewards(phase, ...), giving the phase itself and not its index"
        )
    if outcome.batch_sums.size and not np.isfinite(outcome.batch_sums).all():
        raise InputError("the batch sums of an outcome must be finite numbers")


def _refuse_impossible_rewards(outcome: Outcome, problem: RobustProblem) -> None:
    usable = np.isfinite(outcome.sums) & np.isfinite(outcome.scatter)
    if not usable.all():
        bad = int(np.argmin(usable))
        raise InputError(
            f"the rewards of pair {bad} ({problem.describe_pair(bad)}) are not finite numbers: "
            "mend the simulator and tell the phase again"
        )
    if (outcome.scatter < 0).any():
        raise InputError("the scatter of an outcome is a sum of squares and cannot be negative")
    unpulled = outcome.counts == 0
    if outcome.sums[unpulled].any() or outcome.scatter[unpulled].any():
        raise InputError(
            "the outcome holds rewards of pairs that were not pulled: tell only the pulls asked for"
        )
