"""The answer of `find`: the arm, how sure that is, and all that was measured."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms import Result, StopReason
from surefoot.problem.problem import RobustProblem
from surefoot.study import StudyReader, Verified, verify

if TYPE_CHECKING:
    import altair
    import pandas as pd

    from surefoot.problem.coding import Value


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of `find`, in the unit of what the function gives.

    Attributes:
        result: everything that is known, for those who want more.
        file: the study file.
        interrupted: whether Ctrl-C came before the end.
    """

    result: Result
    file: Path
    interrupted: bool = False
    _kept: Any = None

    @property
    def best(self) -> dict[str, Value]:
        """The parameters of the best arm, or of the best guess."""
        return self.result.best_parameters

    @property
    def arm(self) -> str:
        """The name of the best arm, or of the best guess."""
        return self.result.arm_name

    @property
    def certified(self) -> bool:
        """True if it is proved with the confidence that was asked for."""
        return self.result.certified

    @property
    def reason(self) -> StopReason:
        """Why it stopped; the text says what to do."""
        return self.result.reason

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.result.sentence

    @property
    def pulls(self) -> int:
        """The number of calls of the function, without a last phase that is not complete."""
        return self.result.samples

    @property
    def problem(self) -> RobustProblem:
        """The arms and perturbations."""
        return self.result.problem

    @property
    def value(self) -> float:
        """The estimated worst case of the best arm: its mean under its worst perturbation."""
        return float(self.result.values[self.result.arm])

    @property
    def worst(self) -> str:
        """The name of that perturbation."""
        return self.problem.perturbation_names[self.result.worst_pair]

    def table(self) -> pd.DataFrame:
        """Return one row per arm and perturbation: `mean`, `low`, `high`, `pulls`, `worst`, and
        mean, low and high of every output that has a limit, such as `failures mean`.

        The intervals hold for all rows and at all times at once with the stated confidence; they
        are wider than what decides. `table()["mean"].unstack()` has a column per perturbation.
        """
        import pandas as pd

        result, problem = self.result, self.problem
        arms = [problem.arm_names[arm] for arm in problem.arm_of_pair]
        index = pd.MultiIndex.from_arrays(
            [arms, problem.perturbation_names], names=["arm", "perturbation"]
        )
        columns = {
            "mean": result.pair_averages,
            "low": result.pair_lower,
            "high": result.pair_upper,
            "pulls": result.counts,
            "worst": np.isin(np.arange(problem.n_pairs), result.worst_pairs),
        }
        for name, each in result.outputs.items():
            ends = {"mean": each.means, "low": each.lower, "high": each.upper}
            columns |= {f"{name} {what}": values for what, values in ends.items()}
        return pd.DataFrame(columns, index=index)

    def plot(self) -> altair.LayerChart:
        """Return a chart of each arm's worst case with its interval."""
        from surefoot.view.charts import arms_chart

        return arms_chart(self.result)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML file with the answer, its assumptions, charts and tables."""
        from surefoot.errors import InputError
        from surefoot.system.drafts import write_whole
        from surefoot.view.report import study_page

        target = Path(path)
        if target.suffix not in (".html", ".htm"):
            raise InputError(f"{target} ends in {target.suffix!r}: a report is .html")
        with StudyReader(self.file) as reader:
            return write_whole(target, study_page(reader, kept=self._kept is None).encode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the study to a new file: every reward, and the proof that `surefoot verify`
        checks."""
        with StudyReader(self.file) as reader:
            reader.backup(path)

    def verify(self) -> Verified:
        """Check the proof with the kernel alone, as `surefoot verify` does."""
        return verify(self.file)

    def __repr__(self) -> str:
        if not self.interrupted:
            return repr(self.result)
        kept = f"the same call goes on with {self.file}"
        on = kept if self._kept is None else "without a file, the same call begins anew"
        return f"Interrupted: {on}. The best guess so far:\n{self.result!r}"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()
