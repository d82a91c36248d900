"""Daily cost of a stock that is refilled up to a level whenever it falls to the reorder point."""

DAYS = 120
# for a unit and day; for a unit that was asked for in vain; for an order
HOLDING, SHORTAGE, ORDER = (
    1.0,
    12.0,
    50.0,
)


def simulate(pull):
    reorder, up_to, demand, delay = (
        pull.parameters[name] for name in ("reorder", "up_to", "demand", "delay")
    )
    asked = pull.rng().poisson(demand, DAYS)
    stock, underway, cost = up_to, {}, 0.0
    for day in range(DAYS):
        stock += underway.pop(day, 0)
        sold = min(stock, asked[day])
        cost += SHORTAGE * (asked[day] - sold)
        stock -= sold
        cost += HOLDING * stock
        if stock <= reorder and not underway:
            underway[day + 1 + round(delay)] = up_to - stock
            cost += ORDER
    return cost / DAYS
