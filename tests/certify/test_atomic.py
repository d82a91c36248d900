"""What is refused changes nothing: neither a commitment nor an outcome is taken by halves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.certify import Certifier, Claims, Commitment, LimitedCertifier, Uses
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from tests.certify import limited_saboteur, random_runs

Given = dict[str, Any]  # arguments of `Certifier.commit`
Fault = TypeVar("Fault")

OF_CLAIMS: dict[str, Callable[[Claims], Claims]] = {
    "a challenger that is no arm": lambda one: one._replace(challenger=99),
    "points that are none": lambda one: one._replace(points=one.points + 99),
    "a clock that goes back": lambda one: one._replace(clocks=one.clocks * 0 - 1),
    "a clock beyond the grid": lambda one: one._replace(clocks=one.clocks + 99),
    "no arms": lambda one: one._replace(arms=one.arms[:0], clocks=one.clocks[:0]),
    "no rows of shares": lambda one: one._replace(shares=one.shares.take(np.arange(0))),
    "a deviation below 0": lambda one: one._replace(deviation=np.array(-1.0)),
}
OF_PHASES: dict[str, Callable[[Phase], Phase]] = {
    "another number": lambda phase: replace(phase, index=phase.index + 1),
    "counts below 0": lambda phase: replace(phase, counts=phase.counts - 10_000),
    "too few counts": lambda phase: replace(phase, counts=phase.counts[1:]),
}


def state(kernel: Certifier) -> list[object]:
    """Return all that a kernel has taken, as plain values."""
    walks = kernel.walks
    parts = kernel.parts if isinstance(kernel, LimitedCertifier) else []
    found: list[object] = [
        kernel.leader,
        kernel.promised.tolist(),
        [commitment.phase.index for commitment in kernel.open],
        len(kernel._taken),
        kernel._counts.tolist(),
        kernel._sums.tolist(),
        [each.tolist() for each in (walks.places, walks.starts, walks.survivors, walks.counted)],
        {ell: near.tolist() for ell, near in walks.near.items()},
        {ell: [part.tolist() for part in each[:3]] for ell, each in walks._challenges.items()},
        {ell: each.tolist() for ell, each in walks._strength.items()},
    ]
    if isinstance(kernel, LimitedCertifier):
        found += [kernel.shown.tolist(), kernel.unfit.tolist()]
    return found + [state(part) for part in parts]


def drawn(faults: dict[str, Fault], rng: np.random.Generator) -> Fault:
    """Draw one of some faults."""
    return list(faults.values())[rng.integers(len(faults))]


def spoilt(given: Given, rng: np.random.Generator) -> Given:
    """Spoil one thing of what would be committed: the phase, a claim, or a claim on a limit."""
    uses = [Uses(given["claims"]), *given["others"]]
    places = [(k, j) for k, use in enumerate(uses) for j in range(len(use.claims))]
    if not places or rng.random() < 0.2:
        return given | {"phase": drawn(OF_PHASES, rng)(given["phase"])}
    k, j = places[rng.integers(len(places))]
    claims = list(uses[k].claims)
    claims[j] = drawn(OF_CLAIMS, rng)(claims[j])
    uses[k] = uses[k]._replace(claims=claims)
    return given | {"claims": uses[0].claims, "others": uses[1:]}


def refuse(kernel: Certifier, given: Given, rng: np.random.Generator) -> None:
    """Hand in what is no commitment a few times: it is refused, and nothing has changed."""
    before = state(kernel)
    for _ in range(rng.integers(1, 4)):
        with pytest.raises(InputError):
            kernel.commit(**spoilt(given, rng))
        assert state(kernel) == before


def plain_runs(rng: np.random.Generator) -> Iterator[tuple[Certifier, Certifier, Given, Outcome]]:
    """Yield phases of a random run, for a kernel and for its twin."""
    noise = str(rng.choice(random_runs.NOISES))
    trusts = (np.inf,) if noise == "wealth" else (0.0, 0.1, np.inf)
    maker = random_runs.Maker(rng, noise, float(rng.choice(trusts)))
    kernel, twin = random_runs.certifier(maker), random_runs.certifier(maker)
    for index, step in enumerate(maker.steps):
        phase, outcome = random_runs.kernel_phase(index, step)
        claims = [random_runs.kernel_claims(each, noise == "wealth") for each in step.claims]
        variances = None if step.variances is None else np.array(step.variances)
        yield (
            kernel,
            twin,
            {"phase": phase, "claims": claims, "variances": variances, "others": []},
            outcome,
        )


def limited_runs(rng: np.random.Generator) -> Iterator[tuple[Certifier, Certifier, Given, Outcome]]:
    """Yield phases of a saboteur against limits, for a kernel and for its twin."""
    rows = limited_saboteur.rows(0.2)
    world = rows[rng.integers(len(rows))]
    kernel, twin = limited_saboteur.certifier(world), limited_saboteur.certifier(world)
    for index in range(5):
        phase = Phase(index, rng.integers(1, 4, 6) * limited_saboteur.BATCHES, 4)
        claims = limited_saboteur._beat(kernel, world, rng)
        variances = np.ones(6) if kernel.scores.guesses else None
        uses = limited_saboteur._limits(kernel, world, rng)
        given = {"phase": phase, "claims": claims, "variances": variances, "others": uses}
        yield kernel, twin, given, limited_saboteur._pulled(phase, world, rng)


@pytest.mark.parametrize("runs", [plain_runs, limited_runs])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_refused_changes_nothing(
    runs: Callable[[np.random.Generator], Iterator[tuple[Certifier, Certifier, Given, Outcome]]],
    seed: int,
) -> None:
    """A kernel that refused now and then ends like its twin that was never asked."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for kernel, twin, given, outcome in runs(rng):
        refuse(kernel, given, rng)
        commitment = kernel.commit(**given)
        twin.update(twin.commit(**given), outcome)
        refuse_outcome(kernel, commitment, outcome, rng)
        kernel.update(commitment, outcome)
        assert state(kernel) == state(twin)


def refuse_outcome(
    kernel: Certifier, commitment: Commitment, outcome: Outcome, rng: np.random.Generator
) -> None:
    """Hand in what is no outcome, or a rule that fails midway: nothing has been counted."""
    before, number = state(kernel), len(commitment.scored)
    fails = rng.integers(number) if number else 0

    def lower(*_: object) -> Array | None:
        nonlocal fails
        fails -= 1
        return np.zeros(7) if fails < 0 else None

    unlike = replace(outcome, sums=outcome.sums * np.nan)
    for wrong, rule in ((unlike, None), (replace(outcome, phase=99), None), (outcome, lower)):
        if rule is None or number:
            with pytest.raises(InputError):
                kernel.update(commitment, wrong, rule)
        assert state(kernel) == before
    if isinstance(kernel, LimitedCertifier):
        with pytest.raises(InputError, match="has a limit"):
            kernel.update(commitment, replace(outcome, others={}))
        assert state(kernel) == before
