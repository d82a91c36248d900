"""The stored replicates are what the simulators give, and runs draw from them as they should."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.simopt import Drawn
from benchmarks.simopt_models import MODELS, ROWS, Model, simulated

from surefoot.statistics import Phase

IDS = [model.name for model in MODELS]


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_stored_rows_are_the_simulators_output(model: Model) -> None:
    stored = model.replicates()
    assert stored.shape == (ROWS, model.n_pairs)
    for row in (0, 17, ROWS - 1):
        now = simulated(model, range(row, row + 1))[0]
        np.testing.assert_allclose(stored[row], now, rtol=1e-6)


def test_pulls_of_a_shared_phase_share_rows_batch_by_batch() -> None:
    """A table whose reward is the row's number shows which rows were drawn."""
    table = np.repeat(np.arange(1000.0)[:, None], 3, axis=1)
    phase = Phase(0, np.array([8, 4, 5]), batches=4, shared=True)
    outcome = Drawn(table, np.random.default_rng(1)).pull(phase)
    assert (outcome.batch_sums[:, 1] == outcome.batch_sums[:, 2]).all()
    assert (outcome.batch_sums[:, 0] > outcome.batch_sums[:, 1]).all()
    assert outcome.sums[2] > outcome.batch_sums[:, 2].sum()
    apart = Drawn(table, np.random.default_rng(1)).pull(Phase(0, phase.counts, batches=4))
    assert (apart.batch_sums[:, 1] != apart.batch_sums[:, 2]).all()
