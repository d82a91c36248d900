"""How well a linear controller holds Gymnasium's Pendulum-v1 upright, on average over a few random
small pushes.
"""

import gymnasium
import numpy as np

STEPS, PUSHES = 60, 4


def simulate(pull):
    environment = gymnasium.make("Pendulum-v1", max_episode_steps=STEPS)
    environment.unwrapped.m, environment.unwrapped.l = (
        pull.parameters["mass"],
        pull.parameters["length"],
    )
    seeds = pull.rng().integers(2**31, size=PUSHES)
    return float(np.mean([hold_upright(environment, pull.parameters, int(seed)) for seed in seeds]))


def hold_upright(environment, gains, seed):
    (cosine, sine, speed), _ = environment.reset(
        seed=seed, options={"x_init": 0.12, "y_init": 0.12}
    )
    total = 0.0
    for _ in range(STEPS):
        torque = -gains["stiffness"] * np.arctan2(sine, cosine) - gains["damping"] * speed
        # the torque is cut off at ±2
        (cosine, sine, speed), reward, *_ = environment.step(np.array([torque]))
        total += reward
    return total
