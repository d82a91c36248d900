"""`surefoot init`: a commented example that runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SIMULATOR_NAME = "simulator.py"

CONFIGURATION = """\
# A study: which configuration has the best worst case?
#   surefoot pilot {file}    try the simulator: how slow, how noisy?
#   surefoot plan {file}     what it will cost, before anything is spent
#   surefoot run {file}      run it; the same command goes on after any interruption
#   surefoot status {file}   how far it is
#   surefoot report {file}   the answer, with charts, as one HTML file
name = "a controller that has to work on a worn machine too"

direction = "maximize"      # or "minimize": then the worst case is the largest value
delta = 0.05                # the answer may be wrong with this probability: 95 % confidence
# tolerance = 0.1           # an arm this close to the best is good enough
# budget = 100000           # no more pulls than this
#   aim = "guess"           # with a budget: spend it on the best guess, not on a certificate
# seed = 1                  # of all random streams; drawn afresh if left out
# file = "{stem}.db"         # where rewards are kept; another file is a new study
# The answer rests on the rewards alone: nothing is assumed about how they depend on the parameters,
# nor about how noisy they are. To say more, which may save pulls:
# noise = {{ kind = "bounded", low = 0, high = 1 }}   # success rates, and other rewards in a range
# noise = {{ kind = "gaussian", scale = {{ "weak motor" = 0.5, others = 0.4 }} }}
# features = "quadratic"    # what guides the search: "linear" (if left out), "quadratic", "tabular"
# misfit = 0.05             # let the answer rest on them too: means may be this far from a linear
#                           # function of the features (0: not at all); fewer pulls, if it fits
# parallel = 64             # phases that keep this many workers busy: more pulls, less time
# cost = "time"             # pull slow pairs less often, so that the sum of lengths is small
# common_random_numbers = "auto"   # if all that is random comes from pull.rng(),
#                                    pull.seed or pull.stream(k), one k for each source

# The arms: configurations to choose among. One of list, grid and csv:
[arms]
grid = {{ gain = [0.5, 1.0, 1.5, 2.0], delay = [0.0, 0.5] }}
# grid = {{ gain = {{ from = 0.5, to = 2.0, steps = 4 }}, delay = [0.0, 0.5] }}
# list = [{{ name = "calm", gain = 0.5, delay = 1 }}, {{ name = "brisk", gain = 2, delay = 0 }}]
# csv = "arms.csv"          # a column for each parameter, and perhaps `name`
# Values may be numbers, words in quotes, or true and false; a perturbation replaces the latter two.

# Parameters that no arm chooses, as they are if nothing goes wrong:
# [environment]
#   demand = 8.0

# What may go wrong with each arm: arm + offset is simulated.
# A number is added; "10%" is relative to the arm.
# Parameters that are not mentioned stay as they are. One of list, box and csv:
[perturbations]
list = [
    {{ name = "as designed" }},
    {{ name = "weak motor", gain = "-30%" }},
    {{ name = "slow sensor", delay = 0.3 }},
    {{ name = "weak and slow", gain = "-30%", delay = 0.3 }},
]
# All corners of gain ± 10 %, delay ± 0.1: exact for linear rewards.
# box = {{ gain = "10%", delay = 0.1 }}
# csv = "perturbations.csv"               # columns as in the list, and perhaps `arm`

# A Python function of a pull, or any program:
[simulator]
python = "{module}:simulate"
# command = ["./simulate", "--gain", "{{gain}}", "--delay", "{{delay}}", "--seed", "{{seed}}"]
# json_field = "score"      # else the last line of the program's output is the reward
# time_limit = 60           # seconds
# folder = "runs/{{id}}"      # its working folder

[run]
retries = 2                 # of a pull that failed, before the study pauses
# processes = 4             # all cores if left out
# max_in_flight = 8
# dask = "tcp://host:8786"  # the workers of a Dask cluster in place of this machine's
"""

SIMULATOR = '''\
"""An example: the reward of a controller, measured with noise. Replace it by your own simulator."""


def simulate(pull):
    gain, delay = pull.parameters["gain"], pull.parameters["delay"]
    quality = 3.0 * gain - gain**2 - 1.5 * gain * delay - 0.5 * delay
    return quality + pull.rng().normal(scale=0.3)
'''


def command(
    path: Annotated[Path, typer.Argument(help="Where to write the configuration.")] = Path(
        "study.toml"
    ),
) -> None:
    """Write an example configuration and a simulator to start from."""
    simulator = path.parent / SIMULATOR_NAME
    configuration = CONFIGURATION.format(file=path.name, stem=path.stem, module=simulator.stem)
    _write_new({path: configuration, simulator: SIMULATOR})
    print(f"wrote {path} and {simulator}; try `surefoot pilot {path}`, then `surefoot run {path}`")


def _write_new(texts: dict[Path, str]) -> None:
    """Write all files, or no file if one exists already."""
    from surefoot.errors import InputError

    written: list[Path] = []
    try:
        for file, text in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as opened:
                written.append(file)
                opened.write(text)
    except OSError as error:
        for done in written:
            done.unlink()
        if isinstance(error, FileExistsError):
            raise InputError(
                f"{file} exists already and is left as it is: choose another folder or name"
            ) from None
        raise InputError(
            f"{file.parent} cannot be written to ({error.strerror}): choose another folder"
        ) from None
