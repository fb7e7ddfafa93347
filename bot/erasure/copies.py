"""What an erasure cannot reach: messages on platforms, which can be deleted there if somebody wants it, and backups,
which go by themselves after a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.codec import load_operation
from bot.gateway.events import PlaceKind
from bot.gateway.operations import Delete
from bot.kernel.ids import BootId, OutboxId, SessionId
from bot.kernel.values import dataclass
from bot.outbox import store as outbox_store
from bot.outbox.store import Origin
from bot.outbox.tables import OutState, Policy, outbox
from bot.sessions.tables import place, session
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup."""

    name: str
    made_at: datetime
    until: datetime | None
    """When it is deleted, if backups go on being made; None: nothing deletes it."""


Copies = Callable[[], Sequence[Copy]]
"""Which backups there are, oldest first."""


def no_copies() -> Sequence[Copy]:
    return ()


@dataclass(frozen=True, slots=True)
class There:
    """A message of the executive on a platform."""

    id: OutboxId
    channel: str
    session: SessionId
    audience_epoch: int | None


def sent_there(connection: sa.Connection, keys: Sequence[str]) -> list[There]:
    """Which of the sent rows are messages that their platform could delete. A mail cannot be called back."""
    rows = connection.execute(
        sa.select(outbox)
        .select_from(
            outbox.join(session, session.c.id == outbox.c.session_id).join(place, place.c.key == session.c.place_key)
        )
        .where(
            outbox.c.id.in_(list(keys)),
            outbox.c.state == OutState.SENT.value,
            outbox.c.ref.is_not(None),
            place.c.kind != PlaceKind.MAIL.value,
        )
        .order_by(outbox.c.seq)
    )
    return [There(OutboxId(row.id), row.channel, SessionId(row.session_id), row.audience_epoch) for row in rows]


def delete_there(tx: Tx, keys: Sequence[str], boot: BootId, now: datetime) -> int:
    """Queue the deletion of these messages on their platforms; a platform that refuses parks the row, which shows.
    Returns how many."""
    found = sent_there(tx.connection, keys)
    for each in found:
        row = tx.execute(sa.select(outbox.c.op, outbox.c.ref).where(outbox.c.id == each.id)).one()
        op = Delete(load_operation(row.op).path, row.ref)
        origin = Origin(each.session, None, each.audience_epoch)
        outbox_store.insert(tx, each.channel, [op], origin, Policy.PARK, boot, now, may_leave=False)
    return len(found)
