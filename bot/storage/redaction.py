"""What a room would change so that words are gone from it, before it is changed: for looking first, and for doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.erasing import Erased, Words
from bot.kernel.ids import MessageId, TurnId
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Redaction:
    erased: Erased = field(default_factory=Erased)
    statements: tuple[sa.Executable, ...] = ()
    """To be run in order; what they change is counted in `erased` already."""
    turns: frozenset[TurnId] = frozenset()
    """Turns in which the words were said."""
    messages: tuple[tuple[MessageId, str], ...] = ()
    """Of the transcript: which ones, and what is left of each."""

    def __add__(self, other: Redaction) -> Redaction:
        return Redaction(
            self.erased + other.erased,
            (*self.statements, *other.statements),
            self.turns | other.turns,
            (*self.messages, *other.messages),
        )


Redactor = Callable[[sa.Connection, Words, datetime], Redaction]
"""Looks for words in what a room holds."""
