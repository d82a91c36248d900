"""Cost per period of an (s, S) inventory: SimOpt's model SSCONT, as it is."""

from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.models.sscont import SSCont

COSTS = ("avg_backorder_costs", "avg_order_costs", "avg_holding_costs")


def simulate(pull):
    given = pull.parameters
    model = SSCont(
        {
            "s": given["s"],
            "S": given["s"] + given["lot"],
            "demand_mean": given["demand"],
            "lead_mean": given["lead"],
        }
    )
    seeds = [tuple(pull.stream(k).integers(1, 2**31, 6).tolist()) for k in range(2)]
    model.before_replicate([MRG32k3a(seed) for seed in seeds])
    responses, _ = model.replicate()
    return sum(responses[cost] for cost in COSTS)
