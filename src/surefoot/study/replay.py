"""A study's state is a function of what is stored: opening one is replaying its outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

from surefoot.algorithms import Algorithm, Result
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.study.description import Description
from surefoot.study.storage import StoredPhase

MOST_EVIDENCE = 5_000  # arms


def replay(
    description: Description, run: Algorithm, phases: Iterable[StoredPhase]
) -> StoredPhase | None:
    """Feed the complete phases to the run; gives back the phase that is still open, if there is
    one.
    """
    for stored in phases:
        planned = run.next_phase()
        counts = np.bincount(stored.pairs, minlength=description.problem.n_pairs)
        if planned is None or planned.index != stored.index or (planned.counts != counts).any():
            raise InputError(
                f"replaying the study, phase {stored.index} comes out otherwise than "
                f"it was pulled: another version of "
                "surefoot or numpy, or another kind of processor, plans it "
                "differently. Go on where it was begun, with "
                f"{description.versions}"
            )
        if not stored.complete:
            return stored
        run.update(description.outcome(stored))
    return None


def summary(result: Result) -> dict[str, Any]:
    """What is worth showing of a result without replaying: stored at the end of each phase."""
    last = result.history[-1] if result.history else None
    return {
        "samples": result.samples,
        "arm": result.arm_name,
        "certified": result.certified,
        "reason": result.reason.name,
        "sentence": result.sentence,
        "candidates": [result.problem.arm_names[a] for a in result.candidates],
        "leader": result.problem.arm_names[last.leader] if last else None,
        "survivors": int(last.survivors.sum()) if last else result.problem.n_arms,
        "boundary": last.boundary if last else None,
        "evidence": _plain(last.evidence) if last else None,
    }


def _plain(evidence: Array | None) -> list[float | str] | None:
    """As JSON knows it: ±∞ as text; None where there is none, or more than is worth keeping after
    every phase.
    """
    if evidence is None or len(evidence) > MOST_EVIDENCE:
        return None
    return [value if isfinite(value) else str(value) for value in evidence.tolist()]
