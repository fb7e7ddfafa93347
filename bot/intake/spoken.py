"""What a person wrote in one of their conversations, and what has become of it, for a page that shows both at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.gateway.codec import load_event
from bot.gateway.events import Attachment, CommandInvoked, MessageReceived
from bot.intake.tables import InState, inbox
from bot.kernel.ids import InboxId, SessionId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass

_SPOKEN = ("message", "command")


@dataclass(frozen=True, slots=True)
class Spoken:
    id: InboxId
    text: str
    files: tuple[Attachment, ...]
    state: InState
    reason: str | None
    command: bool
    at: datetime


def in_session(
    connection: sa.Connection, scope: PersonScope, session: SessionId, limit: int, before: str | None = None
) -> list[Spoken]:
    """The newest first; `before` is an id, which sorts by time."""
    rows = connection.execute(
        sa.select(inbox)
        .where(
            inbox.c.session_id == session,
            inbox.c.id < before if before is not None else sa.true(),
            inbox.c.person_id == scope.person,
            inbox.c.kind.in_(_SPOKEN),
        )
        .order_by(inbox.c.id.desc())
        .limit(limit)
    )
    return [_spoken(row) for row in rows]


def one(connection: sa.Connection, scope: PersonScope, session: SessionId, wanted: InboxId) -> Spoken | None:
    row = connection.execute(
        sa.select(inbox).where(
            inbox.c.id == wanted, inbox.c.session_id == session, inbox.c.person_id == scope.person,
            inbox.c.kind.in_(_SPOKEN),
        )
    ).first()  # fmt: skip
    return None if row is None else _spoken(row)


def _spoken(row: Any) -> Spoken:
    event = load_event(row.event)
    match event:
        case MessageReceived():
            text, files = event.body.text, event.attachments
        case CommandInvoked():
            text, files = f"/{event.name} {event.arguments}".rstrip(), ()
        case _:
            raise TypeError(f"inbox row {row.id} is not spoken")
    return Spoken(
        InboxId(row.id), text, files, InState(row.state), row.reason, row.kind == "command", row.received_at
    )  # fmt: skip
