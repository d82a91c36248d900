"""Four simulators of several outputs: a clinic (Ciw), a cart and a lander (Gymnasium), and insulin.

Research on virtual patients. Not medical advice, and not a medical device.
"""

import numpy as np

HOURS = 10.0


def clinic(nurses, doctors, patients, triage, visit, stream):
    """A day: what an hour of staff costs, and whether some patient waited for over an hour."""
    import ciw

    class Drawn(ciw.dists.Distribution):
        def __init__(self, generator, mean):
            self.generator, self.length = generator, mean

        def sample(self, t=None, ind=None):
            return self.generator.exponential(self.length)

    network = ciw.create_network(
        arrival_distributions=[Drawn(stream(0), 1 / patients), None],
        service_distributions=[Drawn(stream(1), triage), Drawn(stream(2), visit)],
        number_of_servers=[round(nurses), round(doctors)],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    day = ciw.Simulation(network)
    day.simulate_until_max_time(HOURS)
    waits = [record.waiting_time for record in day.get_all_records()]
    paid = 40 * nurses + 110 * doctors + 20 * stream(3).normal()  # overtime varies
    return {"paid": paid, "late": float(max(waits, default=0.0) > 1.0)}


STEPS, FAR = 200, 0.15


def cart(place, drift, swing, length, force, wind, stream, seed):
    """A trial: how far the cart strays at most, and whether the pole falls."""
    import gymnasium

    pole = gymnasium.make("CartPole-v1").unwrapped
    pole.length, pole.force_mag = length, force
    pole.polemass_length = pole.masspole * length
    state, _ = pole.reset(seed=seed, options={"low": -FAR, "high": FAR})
    gains, far = np.array([place, drift, 1.0, swing]), 0.0
    for gust in stream(0).normal(scale=wind, size=STEPS):
        pole.state = (*pole.state[:3], pole.state[3] + gust)
        state, _, fallen, *_ = pole.step(int(gains @ state > 0))
        far = max(far, abs(float(state[0])))
        if fallen:
            return {"strays": far, "falls": 1.0}
    return {"strays": far, "falls": 0.0}


def insulin(CarbF, CorrF, pull):
    """Two days: % of the time in 70-180 mg/dL, and % below 70."""
    from surefoot.paper.glucose import Calculator, diet, lane_seeds, simulate

    days = np.array([diet("low"), diet("high")], dtype=object)
    names = ["time_in_range", "time_below"]
    seeds = lane_seeds(pull.seed_sequence, 2)
    found = simulate("child#001", Calculator(CarbF, CorrF), days, seeds, statistics=names)
    return {name: float(100 * found[name].mean()) for name in names}


def lander(brake, lean, gravity, wind, seed):
    """A landing: how much fuel it takes, and whether the craft comes to rest on its legs."""
    import gymnasium

    world = {"gravity": -gravity, "enable_wind": wind > 0, "wind_power": wind}
    craft = gymnasium.make("LunarLander-v3", turbulence_power=0.5, max_episode_steps=600, **world)
    (x, y, across, down, angle, spin, *legs), _ = craft.reset(seed=seed)
    fuel, ended = 0.0, False
    while not ended:
        turn = 0.5 * (np.clip(0.5 * x + across, -lean, lean) - angle) - spin
        lift = 0.5 * (0.55 * abs(x) - y) - brake * down
        if any(legs):
            turn, lift = 0.0, -brake * down
        aside = 1 if turn > 0.05 else 3 if turn < -0.05 else 0
        action = 2 if lift > max(abs(turn), 0.05) else aside
        (x, y, across, down, angle, spin, *legs), reward, landed, late, _ = craft.step(action)
        fuel, ended = fuel + (0.0, 0.03, 0.3, 0.03)[action], landed or late
    return {"fuel": fuel, "landed": float(landed and reward > 0)}
