"""The paper's experiments, and the instances they and the tests run on.

An experiment is a function of its `Session` (`surefoot.experiments.session`), which knows the
number of runs, the seed and the folder, spreads jobs over workers, and keeps finished ones. The
panels of Figure 1 also take a `Variation` of the paper's constants. `surefoot reproduce NAME` looks
the function up here.
"""

from __future__ import annotations

EXPERIMENTS = {
    "irrelevant-dimensions": "surefoot.paper.figure1:irrelevant_dimensions",
    "unit-sphere": "surefoot.paper.figure1:unit_sphere",
    "bolus": "surefoot.paper.bolus.tables:bolus",
    "patients": "surefoot.paper.bolus.tables:patients",
    "why-rage": "surefoot.paper.why_rage:why_rage",
    "peers": "surefoot.paper.peers:peers",
}
RUNS = {"irrelevant-dimensions": 200, "unit-sphere": 200, "peers": 100}  # others: 20

# A name that stands for several experiments, run one after the other by the same workers.
GROUPS = {
    "figure1": ("irrelevant-dimensions", "unit-sphere"),
    "tables": ("patients", "bolus"),
    "all": ("irrelevant-dimensions", "unit-sphere", "patients", "bolus"),
}
