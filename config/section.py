"""What every table of the settings is: frozen, unknown keys refused, defaults checked too."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    # Built when it is first read: as part of the whole, a table is built there once more.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)
