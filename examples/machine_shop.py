"""How many machines, how many people who repair them? A shop in SimPy; needs `simpy`."""

import simpy

import surefoot as sf


def hours(machines, repairers, ill, lifetime, repair, rng):
    """The hours that all machines together run within a week."""
    shop, runs = simpy.Environment(), []
    crew = simpy.Resource(shop, repairers - ill)

    def machine():
        while True:
            runs.append(min(rng.exponential(lifetime), 168 - shop.now))
            yield shop.timeout(runs[-1])
            with crew.request() as turn:
                yield turn
                yield shop.timeout(rng.exponential(repair))

    for _ in range(machines):
        shop.process(machine())
    shop.run(until=168)
    return sum(runs)


answer = sf.find(
    hours,
    arms=[{"machines": 20 - 2 * n, "repairers": n} for n in range(2, 7)],
    perturbations={
        "as usual": {},
        "worn parts": {"lifetime": "-40%"},
        "slow repairs": {"repair": "+50%"},
        "one is ill": {"ill": 1},
    },
    environment={"ill": 0, "lifetime": 8.0, "repair": 2.0},
    seed=1,
)
print(answer)
