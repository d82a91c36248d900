"""A study's state is a function of what is stored: opening one is replaying its outcomes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from surefoot.algorithms import Algorithm
from surefoot.errors import InputError
from surefoot.study.description import Description
from surefoot.study.storage import StoredPhase


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
