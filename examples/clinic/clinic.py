"""A day in a clinic: patients see a nurse and then a doctor, and wait for both (Ciw).

Each source of randomness has a stream of its own, so that with common random numbers every staff
meets the same patients, who need the same time.
"""

import ciw

HOURS = 10.0
NURSE, DOCTOR = 40.0, 110.0  # for each hour
WAITING = 60.0  # for each hour that a patient waits


class Drawn(ciw.dists.Distribution):
    """Exponential times from a generator of our own, not from Ciw's."""

    def __init__(self, generator, mean):
        self.generator, self.length = generator, mean

    def sample(self, t=None, ind=None):
        return self.generator.exponential(self.length)


def simulate(pull):
    """The cost of an hour: staff, and patients' time."""
    given = pull.parameters
    network = ciw.create_network(
        arrival_distributions=[Drawn(pull.stream(0), 1 / given["patients"]), None],
        service_distributions=[
            Drawn(pull.stream(1), given["triage"]),
            Drawn(pull.stream(2), given["visit"]),
        ],
        number_of_servers=[round(given["nurses"]), round(given["doctors"])],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    day = ciw.Simulation(network)
    day.simulate_until_max_time(HOURS)
    waited = sum(record.waiting_time for record in day.get_all_records())
    paid = NURSE * pull.nominal["nurses"] + DOCTOR * pull.nominal["doctors"]  # the ill are paid too
    return paid + WAITING * waited / HOURS
