"""What can be done: the small interface behind which each kind of action stands, so that one more does not touch the
ledger.

An action's effect is a row of ours (a message in the outbox, a schedule, a claim, a field of the profile), written in
the transaction that says that it was done. So it happens once, whenever the process dies.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from bot.kernel.ids import OutboxId
from bot.kernel.values import dataclass
from bot.ledger.model import Payload, Proposal
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Shown:
    """An action in words, for the person who decides. Nothing of its payload may be missing here."""

    what: str
    """`Send an email`."""
    fields: tuple[tuple[str, str], ...]
    """Label and value, in order: who it goes to first."""
    body: str = ""
    """The text that leaves, word for word."""


@dataclass(frozen=True, slots=True)
class Done:
    """It has happened with this transaction. `result`: where it can be found."""

    result: str | None = None
    after: Callable[[], None] | None = None
    """Called once that is committed."""


@dataclass(frozen=True, slots=True)
class Sending:
    """It has happened once this row of the outbox is sent."""

    outbox: OutboxId
    after: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class NotBefore:
    """It may be done, but not yet: somebody sleeps, or has heard enough for now."""

    at: datetime


class Action(Protocol):
    name: str
    """Its class."""
    promotable: bool
    """Whether its class may ever be in automatic mode."""

    def checked(self, payload: Payload) -> Payload:
        """The payload as it is kept. Raises `PermanentError` with words for whoever asked."""
        ...

    def show(self, payload: Payload) -> Shown:
        """Pure."""
        ...

    def edited(self, payload: Payload, body: str) -> Payload:
        """With another text. Raises `PermanentError` where there is no text to change."""
        ...

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | NotBefore | None:
        """Looks again right before it is done: why it must not be, in words; when it may be; None: now."""
        ...

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        """Do what was approved: `proposal.final`. Raises `PermanentError`, before it has recorded anything: rows that
        it wrote are taken back, audit records are not."""
        ...

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        """Take it back. Raises `PermanentError` with words why that cannot be."""
        ...
