"""Rooms by the name that people call them."""

from __future__ import annotations

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import SessionId
from bot.people.model import Person
from bot.people.tables import handle
from bot.sessions import threads
from bot.sessions.tables import place, presence, session
from bot.sessions.threads import Session

_ROOMS = (PlaceKind.GROUP.value, PlaceKind.CHANNEL.value)


def newest_thread(connection: sa.Connection, name: str, person: Person) -> tuple[str, Session] | str:
    """The thread that was begun last in the room of this name, with its session; only of rooms that the person is in.
    Else why there is none, in words."""
    wanted = name.strip().lstrip("#").casefold()
    rows = connection.execute(
        sa.select(session.c.id, place.c.key, place.c.title)
        .select_from(
            session.join(place, place.c.key == session.c.place_key)
            .join(presence, sa.and_(presence.c.place_key == place.c.key, presence.c.until.is_(None)))
            .join(handle, sa.and_(handle.c.channel == place.c.channel, handle.c.address == presence.c.address))
        )
        .where(place.c.kind.in_(_ROOMS), handle.c.person_id == person.id)
        .order_by(session.c.opened_at.desc(), session.c.id.desc())
    ).all()
    found = [row for row in rows if row.title.strip().lstrip("#").casefold() == wanted]
    if not found:
        return f"I know no room called {name} that {person.name} is in."
    if len({row.key for row in found}) > 1:
        return f"There are several rooms called {name}."
    known = threads.get(connection, SessionId(found[0].id))
    thread = threads.key_of(connection, SessionId(found[0].id))
    if known is None or thread is None:
        return f"I know no thread in {name}."
    return thread, known
