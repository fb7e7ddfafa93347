"""What tools want written when the turn ends: in its own transaction, so that it happens if and only if the turn is
answered, and once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from bot.kernel.ids import SessionId, TurnId
from bot.kernel.values import dataclass
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Ending:
    """The turn that ends, as what is written with it sees it."""

    turn: TurnId
    session: SessionId
    model: str
    untrusted: bool
    """It read what others wrote."""
    links: frozenset[str]
    """Addresses that may be told."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Intent:
    note: str
    """What the answer says of it (Markdown, one line)."""
    write: Callable[[Tx, Ending], None]
    """Raises nothing but bugs: whatever can be refused was refused before."""
    after: Callable[[], None]
    """Called once that is committed."""


def told(text: str, intents: Sequence[Intent]) -> str:
    """The answer, and what comes of it."""
    return "\n\n".join((text, *(f"*{each.note}*" for each in intents)))


def write(tx: Tx, intents: Sequence[Intent], ending: Ending) -> None:
    for each in intents:
        each.write(tx, ending)


def written(intents: Sequence[Intent]) -> None:
    """After the commit."""
    for each in intents:
        each.after()
