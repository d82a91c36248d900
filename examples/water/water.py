"""A day of a town's water: EPANET's network Net1, with pumps and a tank of our choice (WNTR).

Demand and power cuts have a stream each, so that with common random numbers every choice meets the
same day.
"""

import tempfile
from pathlib import Path

import numpy as np
import wntr

HOURS = 24
CURVE = [(0.035, 76.0)]  # m³/s and m of a small pump; Net1's own gives 0.095 m³/s


def simulate(pull):
    """The water that is left in the tank when there is least, in m³: what a fire could have."""
    given, town = pull.parameters, wntr.network.WaterNetworkModel("Net1")
    usual = np.repeat(town.get_pattern("1").multipliers, 2)  # Net1 has two hours in a step
    wanted = given["demand"] * usual * pull.stream(0).lognormal(sigma=0.2, size=HOURS)
    town.get_pattern("1").multipliers = wanted
    equip(town, round(given["pumps"]), powered(pull.stream(1), given["outage"]))
    tank = town.get_node("2")
    tank.diameter, tank.init_level = given["tank"], tank.max_level
    level = simulated(town).node["pressure"]["2"].min()
    return float(np.pi / 4 * tank.diameter**2 * (level - tank.min_level))


def equip(town, pumps, power):
    """Net1's only pump gives way to equal smaller ones, which run as long as there is power."""
    town.remove_link("9", with_control=True)
    town.add_curve("small", "HEAD", CURVE)
    town.add_pattern("power", power)
    for number in range(pumps):
        town.add_pump(f"small{number}", "9", "10", "HEAD", "small", pattern="power")


def powered(generator, outage):
    """For each hour the share of it with power; a cut begins at any time."""
    begins = generator.uniform(0, HOURS - outage)
    hours = np.arange(HOURS)
    cut = np.clip(np.minimum(begins + outage, hours + 1) - np.maximum(begins, hours), 0, 1)
    return 1 - cut


def simulated(town):
    """A day by EPANET; where there is no pressure, no water comes."""
    town.options.time.pattern_timestep = 3600
    town.options.hydraulic.demand_model = "PDD"
    town.options.hydraulic.required_pressure = 30.0
    with tempfile.TemporaryDirectory() as folder:
        return wntr.sim.EpanetSimulator(town).run_sim(file_prefix=str(Path(folder) / "day"))
