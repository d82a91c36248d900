"""How a study stands: what changes in its file while it runs, apart from the rewards."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from surefoot.study.file.errors import StudyFileError

State = Literal["running", "paused", "finished"]


class Standing(BaseModel):
    """What the file says of the study as a whole.

    Attributes:
        created: when, in seconds since 1970.
        configuration: what `surefoot run` was given: the name and the text of its file.
        state: "running", "paused" or "finished".
        message: why it is paused or finished.
    """

    model_config = ConfigDict(frozen=True)

    created: float
    configuration: dict[str, Any] | None
    state: State
    message: str | None

    @classmethod
    def from_entries(cls, entries: dict[str, Any]) -> Self:
        """Read it from the table `study`."""
        try:
            return cls.model_validate(entries)
        except ValidationError as error:
            raise StudyFileError(
                f"the study file is damaged: how it stands cannot be read ({error!s:.200}); "
                "restore it from a copy"
            ) from None

    @property
    def file(self) -> str | None:
        """The configuration file that it was made from."""
        found = (self.configuration or {}).get("file")
        return found if isinstance(found, str) else None

    @property
    def how_to_go_on(self) -> str:
        """What a user types to go on with the study."""
        return f"`surefoot run {self.file}`" if self.file else "study.run(simulator)"
