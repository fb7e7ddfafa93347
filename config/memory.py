"""Settings of what is remembered."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from config.section import Section
from config.types import Wait


class Memory(Section):
    """Decisions, initiatives, facts, preferences and advice that are remembered from what is said."""

    block_tokens: int = Field(
        1_200,
        ge=200,
        le=8_000,
        description="most that a prompt shows of it without being asked, in tokens; initiatives are not counted",
    )
    settle: Wait = Field(
        timedelta(seconds=2),
        description="how long after an answer what was said is read: what people say next goes first",
    )
