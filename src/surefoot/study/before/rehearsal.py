"""A whole study here and now, in memory, without a file."""

from __future__ import annotations

from collections import deque

from surefoot.algorithms import Algorithm, Result
from surefoot.errors import InputError
from surefoot.study.file.description import Description
from surefoot.study.file.replay import OpenPhase, Run
from surefoot.study.input import Simulated
from surefoot.study.pull import Pull, PullFactory, Simulate
from surefoot.study.run.worker import as_given


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
            phase.tell(pull, description.reading(pull, given_by(simulator, asked)))
        run.take(phase.stored)
    return run.result


def given_by(simulator: Simulate, pull: Pull) -> Simulated:
    """Return a pull's outputs outside of any study; raise an error of one sentence on failure."""
    try:
        return as_given(simulator(pull))
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            f"the simulator failed for arm {pull.arm!r}, perturbation {pull.perturbation!r} "
            f"({type(error).__name__}: {error!s:.500}): mend it"
        ) from error
