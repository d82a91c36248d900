from __future__ import annotations

from surefoot.algorithms.peers import MKlLucb, MLucb
from surefoot.noise import Bounded
from tests.algorithms.peers.games import solved, table


def test_bounds_of_coins_save_pulls_near_the_ends() -> None:
    game = table([[0.95, 0.97], [0.85, 0.9]])
    wide, own = (
        solved(make(growth=0.2), game, family="bernoulli", noise=Bounded(0, 1))
        for make in (MLucb, MKlLucb)
    )
    assert wide.certified
    assert own.certified
    assert own.samples < 0.7 * wide.samples
