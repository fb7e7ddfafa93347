"""What every table of the settings is: frozen, unknown keys refused, defaults checked too."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
