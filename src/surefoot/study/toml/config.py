"""A study as a TOML file, turned into surefoot's own objects."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.algorithms import Settings
from surefoot.algorithms.settings import default_misfit
from surefoot.errors import InputError, SurefootWarning
from surefoot.noise import Noise
from surefoot.problem.features import Function
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables import numbers_from_csv, pair_numbers
from surefoot.study.file.description import Description, outputs_needed
from surefoot.study.input import Outputs, imported
from surefoot.study.programs.functions import Named
from surefoot.study.programs.simulators import CommandSimulator, simulator_from
from surefoot.study.pull import Simulate, refuse_reserved
from surefoot.study.study import Study
from surefoot.study.toml.sections import read_config
from surefoot.study.toml.space import build_problem

# parts of a question that are as the study has them where the file leaves them unsaid
AS_IT_IS = {"noise", "misfit", "common_random_numbers", "aim", "gain", "rarest", "on_failure"}
AS_IT_IS |= {"on_identical", "seed"}
LONGEST_NAME = 240  # bytes; the system allows 255, with what stands beside a study


class StudyConfig:
    """A configuration file and its contents.

    Attributes:
        path: the TOML file; paths in it are relative to its folder.
        settings: of every run.
        file: the study file that belongs to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = read_config(path)
        self._import()
        self.file = path.parent / (self.values.file or f"{path.stem}.db")
        if len(self.file.name.encode()) > LONGEST_NAME:
            raise InputError(f"{path}: file = {self.file.name!r:.60}: its name is too long")
        baseline = self.values.baseline
        known = None if baseline is None else self.problem().arm_named(baseline)
        self.settings = self._settings(known)
        _warn_of_confidence(self.settings.delta)

    def problem(self) -> RobustProblem:
        values = self.values
        problem = build_problem(
            values.arms,
            values.perturbations,
            values.environment,
            self._features(),
            self.path.parent,
        )
        refuse_reserved(problem.parameter_names)
        return problem

    def _import(self) -> None:
        """Import the modules that the user names as "module:name": only a configuration that is
        read on purpose may do so, never a study file.
        """
        values = self.values
        own = {"guide": values.guide, "algorithm": values.algorithm.name}
        for what, name in own.items():
            if name is not None and ":" in name:
                imported(name, self.path.parent, what)

    def _features(self) -> str | Function:
        """Return the name of a feature map, or the user's own function."""
        given = self.values.features
        if ":" not in given:
            return given
        found: Function = imported(given, self.path.parent, "features")
        if not callable(found):
            raise InputError(
                f"{self.path}: features = {given!r} is a {type(found).__name__}, not a function of "
                "(n_pairs, n_parameters) numbers"
            )
        return found

    def _noise(self) -> Noise:
        section = self.values.noise
        named = section.scales_by_name
        if named is None:
            self._refuse_scales_by_position()
            return section.build(None)
        if isinstance(named, str):
            scales = numbers_from_csv(self.problem(), self.path.parent / named, "scale")
        else:
            scales = pair_numbers(self.problem(), named, "noise.scale")
        return section.build(scales)

    def _settings(self, baseline: str | None) -> Settings:
        values, noise = self.values, self._noise()
        asked = {"misfit": default_misfit(values.algorithm.build())} | values.asked
        try:
            return Settings(delta=values.delta, noise=noise, baseline=baseline, **asked)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def _refuse_scales_by_position(self) -> None:
        """Refuse a list of scales: its meaning would change with the order of arms."""
        if isinstance(self.values.noise.says.get("scale"), list):
            raise InputError(
                f"{self.path}: noise.scale is a list: give scales by name, such as "
                'scale = { "arm / perturbation" = 2.0, others = 1.0 }, or the path of a CSV'
            )

    @property
    def outputs(self) -> Outputs:
        """The outputs that every pull must have."""
        return outputs_needed(self.settings)

    def simulator(self, problem: RobustProblem) -> Simulate:
        """Return the simulator, ready to be called."""
        section = self.values.simulator
        if section is None:
            raise InputError(
                f"{self.path}: there is no [simulator]: give one, or work by hand with `surefoot "
                "ask` and `surefoot tell`"
            )
        if section.python is not None:
            function = simulator_from(section.python, self.path.parent)
            module = section.python.partition(":")[0]
            return Named(function, problem.parameter_names, module, section.time_limit)
        command = CommandSimulator(
            section.command or [],
            section.json_field,
            section.cost_field,
            section.file,
            section.time_limit,
            section.folder,
            str(self.path.parent.absolute()),
        )
        command.check_fields(problem.parameter_names)
        return command

    def open_study(self) -> Study:
        """Create the study, or go on with it."""
        if not self.file.exists():
            return self._create()
        own = ":" in self.values.algorithm.name
        study = Study.open(self.file, algorithm=self.values.algorithm.build() if own else None)
        try:
            self._refuse_changes(study)
            self._change(study)
            study.keep(self._as_stored())
        except BaseException:
            study.close()
            raise
        return study

    def _change(self, study: Study) -> None:
        """Apply the settings that may change: the budget, and others that the file names."""
        said = {"budget"} | self.values.model_fields_set
        if "parallel" in said:
            said.add("in_flight")  # its default follows from the number of workers
        changed = study.description.changes(self.settings)
        if said & changed.keys():
            study.change(**{name: changed[name] for name in changed if name in said})

    def description(self) -> Description:
        """Return the question of a new study; nothing is stored."""
        values = self.values
        return Description.fresh(
            values.name or self.file.stem,
            self.problem(),
            self.settings,
            values.algorithm.build(),
            direction=values.direction,
            seed=values.seed,
            on_identical=values.on_identical,
            on_failure=values.on_failure,
        )

    def _create(self) -> Study:
        return Study.begin(
            self.file,
            self.description(),
            self.values.algorithm.build(),
            self._as_stored(),
        )

    def _as_stored(self) -> dict[str, Any]:
        return {"file": str(self.path), "text": self.path.read_text(encoding="utf-8")}

    def _refuse_changes(self, study: Study) -> None:
        """Refuse to change a question half-way: the guarantee is for one.

        Keys of `AS_IT_IS` that the file omits are as the study has them.
        """
        asked, values = study.description, self.values
        algorithm = values.algorithm.build()
        same = algorithm.name == asked.algorithm
        kept = asked.options_of(type(algorithm)) if same else asked.options
        options = values.algorithm.options_beside(kept)
        now = replace(self.description(), options=options)
        unsaid = AS_IT_IS - values.model_fields_set
        changed = sorted(replace(asked, options=kept).differences(now) - unsaid)
        if changed:
            raise InputError(
                f"{self.path} asks another question than {self.file} was made for: "
                f"{', '.join(changed)} changed. "
                "Change it back to go on; for a new study write another file into it, such as "
                f'file = "{self.file.stem}-2.db"'
            )


def _warn_of_confidence(delta: float) -> None:
    """Warn if delta looks like a confidence level."""
    if delta > 0.5:
        warnings.warn(
            f"delta = {delta:g} asks for {100 * (1 - delta):.3g} % confidence; for "
            f"{100 * delta:.3g} % write delta = {1 - delta:.3g}",
            SurefootWarning,
            stacklevel=2,
        )
