"""Thread keys, sessions and epochs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, Record, SessionChanged
from bot.audit.recorder import Recorder
from bot.kernel.ids import SessionId, new_id
from bot.kernel.values import dataclass
from bot.sessions.audience import Audience
from bot.sessions.manners import Hearing
from bot.sessions.tables import OCCUPYING, participant, place, session, thread, turn
from bot.storage.database import Tx
from bot.storage.metadata import among


@dataclass(frozen=True, slots=True)
class Session:
    id: SessionId
    channel: str
    place: str
    audience: Audience
    history_epoch: int
    audience_epoch: int
    lane_busy: bool
    """A turn of it is running or waits to be run again."""
    hears: Hearing = Hearing.THREADS
    """What its place lets the executive hear."""
    shared: bool = False
    """Somebody besides its first writer was seen writing in its thread."""
    title: str = ""
    """Of its place."""


def _select(*more: sa.ColumnElement[str]) -> sa.Select[Any]:
    busy = sa.exists().where(turn.c.session_id == session.c.id, among(turn.c.state, OCCUPYING))
    return sa.select(session, place.c.audience, place.c.hears, place.c.title, busy.label("busy"), *more).select_from(
        session.join(place, place.c.key == session.c.place_key)
    )


# Statements on the path of every message are built once: building one anew takes longer than running it.
_BY_THREAD = (
    _select(thread.c.key)
    .join(thread, thread.c.session_id == session.c.id)
    .where(thread.c.key.in_(sa.bindparam("keys", expanding=True)))
)
_BY_ID = _select().where(session.c.id == sa.bindparam("session"))


def by_thread(connection: sa.Connection, keys: Collection[str]) -> dict[str, Session]:
    """The sessions that these thread keys lead to, by key; keys without one are left out."""
    if not keys:
        return {}
    rows = connection.execute(_BY_THREAD, {"keys": sorted(set(keys))})
    return {row.key: _session(row) for row in rows}


def get(connection: sa.Connection, session_id: SessionId) -> Session | None:
    row = connection.execute(_BY_ID, {"session": session_id}).first()
    return None if row is None else _session(row)


def open_session(tx: Tx, recorder: Recorder, channel: str, key: str, place_key: str, now: datetime) -> Session:
    """Begin a session for a thread key that has none. The place must exist."""
    session_id = SessionId(new_id(now))
    tx.execute(session.insert().values(id=session_id, channel=channel, place_key=place_key, opened_at=now))
    tx.execute(thread.insert().values(key=key, session_id=session_id, since=now))
    recorder.record(tx, Record(SessionChanged("opened", 0), session=session_id))
    known = tx.execute(sa.select(place.c.audience, place.c.hears).where(place.c.key == place_key)).one()
    return Session(
        session_id, channel, place_key, Audience(known.audience), 0, 0, lane_busy=False, hears=Hearing(known.hears)
    )


def new_history(tx: Tx, recorder: Recorder, session_id: SessionId, actor: Actor) -> int:
    """Cut the history (`/new`): what was said before is no longer shown to the model. Returns the new epoch."""
    epoch: int = tx.execute(
        session.update()
        .where(session.c.id == session_id)
        .values(history_epoch=session.c.history_epoch + 1)
        .returning(session.c.history_epoch)
    ).scalar_one()
    recorder.record(tx, Record(SessionChanged("epoch", epoch), actor, session_id))
    return epoch


def move_threads(tx: Tx, recorder: Recorder, old_place: str, new_place: str, now: datetime) -> None:
    """A place got a new key on its platform: its threads get new keys and keep their sessions."""
    rows = tx.execute(
        sa.select(thread.c.key, thread.c.session_id)
        .select_from(thread.join(session, session.c.id == thread.c.session_id))
        .where(
            session.c.place_key == new_place,
            sa.or_(thread.c.key == old_place, thread.c.key.startswith(f"{old_place}:", autoescape=True)),
        )
    ).all()
    for row in rows:
        key = new_place + row.key[len(old_place) :]
        tx.execute(thread.delete().where(thread.c.key == key))
        tx.execute(thread.insert().values(key=key, session_id=row.session_id, since=now))
        recorder.record(tx, Record(SessionChanged("alias_moved", 0), session=SessionId(row.session_id)))


def add_participants(tx: Tx, pairs: Sequence[tuple[SessionId, str]], now: datetime) -> None:
    """Note who takes part; already noted pairs stay as they are."""
    if pairs:
        tx.execute(
            participant.insert().prefix_with("OR IGNORE"),
            [{"session_id": s, "address": a, "since": now} for s, a in dict.fromkeys(pairs)],
        )


def takes_part(connection: sa.Connection, session_ids: Collection[SessionId], address: str) -> set[SessionId]:
    """Those of the sessions in which the account has taken part."""
    if not session_ids:
        return set()
    rows = connection.execute(
        sa.select(participant.c.session_id).where(
            participant.c.session_id.in_(sorted(session_ids)), participant.c.address == address
        )
    )
    return {SessionId(row.session_id) for row in rows}


def others(connection: sa.Connection, session_id: SessionId, address: str) -> bool:
    """Whether somebody else has taken part in the session."""
    found = connection.execute(
        sa.select(participant.c.address)
        .where(participant.c.session_id == session_id, participant.c.address != address)
        .limit(1)
    )
    return found.first() is not None


def share(tx: Tx, session_id: SessionId) -> None:
    """Note that more than one person writes in its thread."""
    tx.execute(session.update().where(session.c.id == session_id).values(shared=True))


def _session(row: Any) -> Session:
    return Session(
        SessionId(row.id),
        row.channel,
        row.place_key,
        Audience(row.audience),
        row.history_epoch,
        row.audience_epoch,
        bool(row.busy),
        Hearing(row.hears),
        row.shared,
        row.title,
    )


def key_of(connection: sa.Connection, session_id: SessionId) -> str | None:
    """The newest thread key of a session."""
    key: str | None = connection.execute(
        sa.select(thread.c.key).where(thread.c.session_id == session_id).order_by(thread.c.since.desc()).limit(1)
    ).scalar()
    return key
