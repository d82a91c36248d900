"""`python -m tests.study.make_fixture`: write the study file that every later version must open.
Run once a format.
"""

from __future__ import annotations

from pathlib import Path

from surefoot.study.file.storage.schema import FORMAT
from tests.study.toys import linear, toy_study

PATH = Path(__file__).parent.parent / "data" / f"study_v{FORMAT}.db"
TOLD = 20  # into the second phase

if __name__ == "__main__":
    with toy_study(PATH) as study:
        while study.told < TOLD:
            for pull in study.ask(1):
                study.tell(pull.id, linear(pull))
    PATH.with_name(PATH.name + ".lock").unlink(missing_ok=True)
