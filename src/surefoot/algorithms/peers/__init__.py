"""Published procedures for this problem, on equal terms.

Simulation optimisation calls it robust selection of the best and minimises the largest mean cost;
game trees of depth two call it maximin action identification. All are written here for rewards: the
largest worst case wins. docs/peers.md states the guarantee of each.
"""

from __future__ import annotations

from surefoot.algorithms.peers.ak_rsb import AkRsb
from surefoot.algorithms.peers.ar_ocba import ArOcba
from surefoot.algorithms.peers.equal import Equal
from surefoot.algorithms.peers.kn_rsb import KnRsb
from surefoot.algorithms.peers.m_kl_lucb import MKlLucb
from surefoot.algorithms.peers.m_lucb import MLucb
from surefoot.algorithms.peers.m_racing import MRacing
from surefoot.algorithms.peers.r_ocba import ROcba
from surefoot.algorithms.peers.rinott import rinott_constant
from surefoot.algorithms.peers.two_stage_rsb import TwoStageRsb

__all__ = [
    "AkRsb",
    "ArOcba",
    "Equal",
    "KnRsb",
    "MKlLucb",
    "MLucb",
    "MRacing",
    "ROcba",
    "TwoStageRsb",
    "rinott_constant",
]
