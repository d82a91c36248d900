"""Vaccinate a town or test it? An epidemic among people who meet, in Mesa; needs `mesa`."""

import mesa

import surefoot as sf


class Person(mesa.Agent):
    """Somebody who meets others while ill, unless a test has sent them home."""

    days_ill, immune, at_home = 0, False, False

    def meet(self, contagion):
        if self.days_ill and not self.at_home:
            for other in self.random.sample(list(self.model.agents), 4):
                if not other.immune and self.random.random() < contagion:
                    other.days_ill, other.immune = 6, True
        self.days_ill = max(self.days_ill - 1, 0)


def infected(doses, tests, contagion, effect, rng):
    """How many of a hundred people catch it within a month, if four come home with it."""
    town = mesa.Model(seed=int(rng.integers(2**31)))
    people = list(Person.create_agents(town, 100))
    for number, person in enumerate(people):
        person.days_ill = 6 * (number < 4)
        person.immune = number < 4 or (number < doses and town.random.random() < effect)
    safe = sum(person.immune for person in people)
    for _ in range(30):
        for person in town.random.sample(people, tests):
            person.at_home = person.days_ill > 0
        town.agents.shuffle_do("meet", contagion)
    return sum(person.immune for person in people) - safe


answer = sf.find(
    infected,
    arms=[{"doses": 75, "tests": 0}, {"doses": 40, "tests": 18}, {"doses": 0, "tests": 27}],
    perturbations={"usual": {}, "variant": {"contagion": "+50%"}, "weak vaccine": {"effect": -0.5}},
    environment={"contagion": 0.09, "effect": 0.9},
    minimize=True,
    seed=1,
)
print(answer)
