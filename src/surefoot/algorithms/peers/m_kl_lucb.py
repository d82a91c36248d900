"""M-KL-LUCB: M-LUCB with the bounds of coins, in the manner of Garivier et al. (2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms.peers.bernoulli import kl_bounds
from surefoot.algorithms.peers.m_lucb import MLucb
from surefoot.arrays import Array


@dataclass(eq=False)
class MKlLucb(MLucb):
    """M-LUCB whose bounds q solve n kl(mean, q) = threshold: narrower, and as valid.

    Attributes:
        threshold: "proved" or "heuristic".
        growth: a turn takes this share of the pulls so far of the pair that has fewer, and one at
            least; 0 as published.
    """

    name: ClassVar[str] = "m-kl-lucb"

    def bounds(self, means: Array, levels: Array) -> tuple[Array, Array]:
        return kl_bounds(means, levels)
