"""Whether a linear controller keeps Gymnasium's CartPole upright: 1 if it does, 0 if it falls."""

import gymnasium
import numpy as np

STEPS = 200
FAR = 0.15  # how far from upright and at rest a trial may begin
POLE = gymnasium.make("CartPole-v1").unwrapped


def simulate(pull):
    given = pull.parameters
    POLE.length, POLE.force_mag = given["length"], given["force"]
    POLE.polemass_length = POLE.masspole * POLE.length
    state, _ = POLE.reset(seed=pull.seed, options={"low": -FAR, "high": FAR})
    gains = np.array([given["place"], given["drift"], 1.0, given["swing"]])
    for gust in pull.stream(0).normal(scale=given["wind"], size=STEPS):
        POLE.state = (*POLE.state[:3], POLE.state[3] + gust)
        state, _, fallen, *_ = POLE.step(int(gains @ state > 0))
        if fallen:
            return 0.0
    return 1.0
