"""The orchestrator's persona and rules, and what all specialists are told, as text. They are the same for every turn
and every person, so that the provider can keep them cached; what differs from turn to turn belongs into the user
turn."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def persona() -> str:
    """The text of `config/persona.md`, without trailing blank lines."""
    return files("config").joinpath("persona.md").read_text(encoding="utf-8").strip() + "\n"


@cache
def consult() -> str:
    """The text of `config/consult.md`, likewise."""
    return files("config").joinpath("consult.md").read_text(encoding="utf-8").strip() + "\n"
