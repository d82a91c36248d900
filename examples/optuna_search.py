"""From a search to a proof: Optuna finds good inventory policies, Surefoot the robust best of them.

The search sees each policy for one simulated season under the forecast. The study then asks which
of its ten best policies has the smallest worst cost when demand and delivery may be worse.

    pip install 'surefoot[optuna]'
    python optuna_search.py
"""

import math
from pathlib import Path

import optuna
from inventory import simulate

import surefoot as sf
from surefoot.candidates import from_optuna
from surefoot.study.pull import PullFactory

FORECAST = {"demand": 8.0, "delay": 2}
WORSE = [
    {"name": "as forecast"},
    {"name": "strong demand", "demand": "30%"},
    {"name": "late deliveries", "delay": 2},
    {"name": "both", "demand": "30%", "delay": 2},
]


def searched(trials: int = 80) -> optuna.Study:
    """Look for a policy with a small cost under the forecast, one noisy season each."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def cost(trial: optuna.Trial) -> float:
        policy = {
            "reorder": trial.suggest_int("reorder", 10, 90, step=5),
            "up_to": trial.suggest_int("up_to", 40, 200, step=10),
        }
        one = sf.RobustProblem.paper([[*policy.values(), *FORECAST.values()]], [[[0, 0, 0, 0]]],
                               parameter_names=[*policy, *FORECAST])  # fmt: skip
        return simulate(PullFactory(one, "search", 0)(trial.number, 0, 0))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(cost, n_trials=trials)
    return study


if __name__ == "__main__":
    found = from_optuna(searched(), top=10)
    print(f"the search likes {found.arms[0]} best: {found.values[0]:.1f} a day in one season")
    problem = found.problem(WORSE, FORECAST)
    with sf.Study.create(
        Path("optuna_search.db"),
        problem,
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=math.inf,
        common_random_numbers="auto",
        tolerance=0.5,
        direction=found.direction,
        seed=1,
    ) as study:
        result = study.run(simulate, "serial")
    print(result.sentence)
    print(result.best_parameters)
