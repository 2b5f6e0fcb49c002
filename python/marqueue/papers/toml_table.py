"""Tables of the TOML files of a paper."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]


class TomlTable(BaseModel):
    """A table of a TOML file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
