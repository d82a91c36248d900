"""The paper's experiments, and the instances they and the tests run on.

An experiment is a function of one argument, its `Session` (`surefoot.experiments.session.runner`).
The session knows the number of runs, the seed and the folder, spreads jobs over workers, and keeps
what is finished. `surefoot reproduce NAME` looks the function up here.
"""

from __future__ import annotations

EXPERIMENTS = {
    "irrelevant-dimensions": "surefoot.paper.figure1.synthetic:irrelevant_dimensions",
    "unit-sphere": "surefoot.paper.figure1.synthetic:unit_sphere",
    "why-rage": "surefoot.paper.figure1.why_rage:why_rage",
    "bolus": "surefoot.paper.bolus.experiment:bolus",
    "peers": "surefoot.paper.peers.experiment:peers",
}

# A name that stands for several experiments, run one after the other by the same workers.
GROUPS = {"all": ("irrelevant-dimensions", "unit-sphere")}
