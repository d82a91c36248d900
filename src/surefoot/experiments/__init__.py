"""The paper's experiments, and the instances they and the tests run on.

An experiment is a function of one argument, the `Session` of `surefoot.experiments.runner`, which
knows the number of runs, the seed and the folder, spreads jobs over workers, and keeps what is
finished. `surefoot reproduce NAME` looks it up here.
"""

from __future__ import annotations

EXPERIMENTS = {
    "irrelevant-dimensions": "surefoot.experiments.synthetic:irrelevant_dimensions",
    "unit-sphere": "surefoot.experiments.synthetic:unit_sphere",
    "why-rage": "surefoot.experiments.why_rage:why_rage",
    "bolus": "surefoot.experiments.bolus:bolus",
}

# A name that stands for several experiments, run one after the other by the same workers.
GROUPS = {"all": ("irrelevant-dimensions", "unit-sphere")}
