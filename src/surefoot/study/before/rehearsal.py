"""A whole study here and now, in memory: what a study file would hold, and nothing stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from surefoot.algorithms import Algorithm, Result
from surefoot.errors import InputError
from surefoot.study.file.description import Description
from surefoot.study.phase import OpenPhase
from surefoot.study.pull import Pull, PullFactory
from surefoot.study.run.run import Run
from surefoot.study.run.worker import as_reward

Simulate = Callable[[Pull], float]


def rehearse(
    description: Description,
    simulator: Simulate,
    algorithm: Algorithm | None = None,
    first_pull: int = 0,
) -> Result:
    """Run a study to its end, pull by pull, as `Study.run` would with this description.

    Args:
        algorithm: only if surefoot does not ship it.
        first_pull: the number of the first pull. Rehearsals at the same time must not share
            numbers where the simulator names files by them.
    """
    run, number, planned = Run(description, algorithm), first_pull, deque[OpenPhase]()
    factory = PullFactory(description.problem, description.id, description.seed)
    while run.next_phase():
        while another := run.plan(len(run.history) + len(planned), number):
            planned.append(another)
            number += another.size
        phase = planned.popleft()
        make = factory.seeded(run.seed_of(phase.stored))
        for pull in phase.take(phase.size):
            asked = make(pull, phase.stored.index, phase.pair(pull), phase.block(pull))
            reward = reward_of(simulator, asked)
            description.refuse_impossible(pull, reward)
            phase.set_reward(pull, reward)
        run.take(phase.stored)
    return run.result


def reward_of(simulator: Simulate, pull: Pull) -> float:
    """The reward of a pull outside of any study; what goes wrong is said in one sentence."""
    try:
        return as_reward(simulator(pull))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the simulator failed for arm {pull.arm!r}, perturbation {pull.perturbation!r} "
            f"({type(error).__name__}: {error!s:.500}): mend it"
        ) from error
