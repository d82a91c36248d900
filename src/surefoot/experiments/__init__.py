"""The paper's experiments, and the instances they and the tests run on.

An experiment is a function of one argument, its `Session` (`surefoot.experiments.session`).
The session knows the number of runs, the seed and the folder, spreads jobs over workers, and keeps
what is finished. `surefoot reproduce NAME` looks the function up here.
"""

from __future__ import annotations

EXPERIMENTS = {
    "irrelevant-dimensions": "surefoot.paper.figure1:irrelevant_dimensions",
    "unit-sphere": "surefoot.paper.figure1:unit_sphere",
    "why-rage": "surefoot.paper.why_rage:why_rage",
    "bolus": "surefoot.paper.bolus.tables:bolus",
    "peers": "surefoot.paper.peers:peers",
}

# A name that stands for several experiments, run one after the other by the same workers.
GROUPS = {"all": ("irrelevant-dimensions", "unit-sphere")}
