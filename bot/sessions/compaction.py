"""The older part of a long thread: what is no longer shown word for word, and the summary that stands for it.

A summary belongs to one session and one pair of epochs, and covers the turns before `until`. It is derived: the words
it was made of stay in the transcript, and if one of them is changed, deleted or erased, the summary goes and is made
anew from what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import SessionId, TurnId, new_id
from bot.kernel.scope import SessionScope
from bot.kernel.values import dataclass
from bot.sessions.tables import message, session, summary
from bot.sessions.transcript import Said, said_of
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Summary:
    id: str
    until: TurnId
    """The first turn that it does not cover."""
    turns: int
    text: str
    told: bool
    """The people of the thread have been told."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What stands before the history that is shown."""

    summary: Summary | None
    hidden: int
    """Messages that are neither shown nor summarised yet."""


NOTHING = Earlier(None, 0)


@dataclass(frozen=True, slots=True)
class Segment:
    """What is to be summarised, as it was when it was read."""

    session: SessionId
    history_epoch: int
    audience_epoch: int
    until: TurnId
    before: Summary | None
    said: tuple[Said, ...]
    print: tuple[int, datetime | None, datetime | None]
    """Number of messages, newest edit, newest deletion: whether it is still the same."""


_CURRENT = (
    sa.select(summary)
    .select_from(summary.join(session, session.c.id == summary.c.session_id))
    .where(
        summary.c.session_id == sa.bindparam("session"),
        summary.c.history_epoch == session.c.history_epoch,
        summary.c.audience_epoch == session.c.audience_epoch,
    )
)
_OWN = sa.and_(
    message.c.session_id == sa.bindparam("session"),
    message.c.history_epoch == session.c.history_epoch,
    message.c.audience_epoch == session.c.audience_epoch,
)
_BETWEEN = sa.and_(
    _OWN,
    message.c.turn_id >= sa.bindparam("after"),
    message.c.turn_id < sa.func.coalesce(session.c.history_start, ""),
)
_JOINED = message.join(session, session.c.id == message.c.session_id)
_HIDDEN = (
    sa.select(sa.func.count())
    .where(
        message.c.session_id == session.c.id,
        message.c.history_epoch == session.c.history_epoch,
        message.c.audience_epoch == session.c.audience_epoch,
        message.c.turn_id >= sa.func.coalesce(summary.c.until_turn, ""),
        message.c.turn_id < sa.func.coalesce(session.c.history_start, ""),
    )
    .correlate(session, summary)
    .scalar_subquery()
)
_EARLIER = (
    sa.select(summary, _HIDDEN.label("hidden"))
    .select_from(
        session.outerjoin(
            summary,
            sa.and_(
                summary.c.session_id == session.c.id,
                summary.c.history_epoch == session.c.history_epoch,
                summary.c.audience_epoch == session.c.audience_epoch,
            ),
        )
    )
    .where(session.c.id == sa.bindparam("session"))
)
_PRINT = (
    sa.select(sa.func.count(), sa.func.max(message.c.edited_at), sa.func.max(message.c.deleted_at))
    .select_from(_JOINED)
    .where(_BETWEEN)
)
_SEGMENT = sa.select(message).select_from(_JOINED).where(_BETWEEN).order_by(message.c.turn_id, message.c.position)
_ALL = sa.select(message).select_from(_JOINED).where(_OWN).order_by(message.c.turn_id, message.c.position)


def earlier(connection: sa.Connection, scope: SessionScope) -> Earlier:
    """What stands before the history that the session's next prompt shows."""
    row = connection.execute(_EARLIER, {"session": scope.session}).first()
    return NOTHING if row is None else Earlier(_summary(row), row.hidden)


def current(connection: sa.Connection, scope: SessionScope) -> Summary | None:
    """The summary of the session's current epochs."""
    row = connection.execute(_CURRENT, {"session": scope.session}).first()
    return None if row is None else _summary(row)


def _summary(row: Any) -> Summary | None:
    return None if row.id is None else Summary(row.id, TurnId(row.until_turn), row.turns, row.text, row.told)


def everything(connection: sa.Connection, scope: SessionScope) -> list[Said]:
    """All messages of the session's current epochs, those that are no longer shown too, oldest first."""
    return [said_of(row) for row in connection.execute(_ALL, {"session": scope.session})]


def segment(connection: sa.Connection, session_id: SessionId) -> Segment | None:
    """What is neither shown nor summarised; None if there is no such thing."""
    found = connection.execute(sa.select(session).where(session.c.id == session_id)).first()
    if found is None or found.history_start is None:
        return None
    before = current(connection, SessionScope(session_id))
    asked = {"session": session_id, "after": before.until if before else ""}
    rows = connection.execute(_SEGMENT, asked).all()
    if not rows:
        return None
    until = TurnId(found.history_start)
    said = tuple(said_of(row) for row in rows)
    return Segment(
        session_id,
        found.history_epoch,
        found.audience_epoch,
        until,
        before,
        said,
        _print(connection, session_id, before),
    )


def put(tx: Tx, of: Segment, text: str, model: str, now: datetime) -> bool:
    """Store the summary of a segment in the place of the one before. False if the session, or what was summarised, is
    not what it was: then nothing is stored."""
    connection = tx.connection
    scope = SessionScope(of.session)
    row = connection.execute(sa.select(session).where(session.c.id == of.session)).first()
    if (
        row is None
        or (row.history_epoch, row.audience_epoch) != (of.history_epoch, of.audience_epoch)
        or current(connection, scope) != of.before
        or (row.history_start or "") < of.until
        or _print(connection, of.session, of.before, of.until) != of.print
    ):
        return False
    if of.before is not None:
        tx.execute(summary.delete().where(summary.c.id == of.before.id))
    turns = len({each.turn for each in of.said}) + (of.before.turns if of.before else 0)
    tx.execute(
        summary.insert().values(
            id=new_id(now),
            session_id=of.session,
            history_epoch=of.history_epoch,
            audience_epoch=of.audience_epoch,
            until_turn=of.until,
            turns=turns,
            text=text,
            model=model,
            told=of.before.told if of.before else False,
            created_at=now,
        )
    )
    return True


def mark_told(tx: Tx, summary_id: str) -> None:
    tx.execute(summary.update().where(summary.c.id == summary_id).values(told=True))


def drop(tx: Tx, session_id: SessionId) -> int:
    """Delete the session's summaries; the next turn has one made anew. Returns how many there were."""
    return tx.execute(summary.delete().where(summary.c.session_id == session_id)).rowcount


def _print(
    connection: sa.Connection, session_id: SessionId, before: Summary | None, until: TurnId | None = None
) -> tuple[int, datetime | None, datetime | None]:
    statement = _PRINT if until is None else _PRINT.where(message.c.turn_id < until)
    row = connection.execute(statement, {"session": session_id, "after": before.until if before else ""}).one()
    return row[0], row[1], row[2]


def pieces(texts: Sequence[str], size: int) -> list[str]:
    """The texts, joined by line ends, in pieces of at most `size` characters; a longer text is cut into several."""
    found: list[str] = []
    for text in texts:
        for start in range(0, max(1, len(text)), size):
            part = text[start : start + size]
            if found and len(found[-1]) + 1 + len(part) <= size:
                found[-1] = f"{found[-1]}\n{part}"
            else:
                found.append(part)
    return found
