"""Places as a person may see them: where they are themselves, and, for whoever says what a place is, all that have
several people in them. Other people's direct conversations and mails are nobody else's."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import PersonId
from bot.kernel.scope import OperatorScope, PersonScope, Scope
from bot.kernel.values import dataclass
from bot.people import store as people
from bot.people.model import Person
from bot.people.tables import handle
from bot.sessions import places
from bot.sessions.places import Known
from bot.sessions.tables import place, presence
from bot.sessions.visible import visible
from bot.storage.metadata import among

_SHARED = among(place.c.kind, (PlaceKind.GROUP.value, PlaceKind.CHANNEL.value))
_LISTED = among(place.c.kind, (PlaceKind.GROUP.value, PlaceKind.CHANNEL.value, PlaceKind.DIRECT.value))
"""Who reads a mail follows from its own head: a place for each thread would be a list of subjects."""


@dataclass(frozen=True, slots=True)
class Placed:
    known: Known
    declared_by: str | None
    present: tuple[Person, ...]
    """People of the roster who are known to be in it."""
    strangers: int
    """Accounts known to be in it that are nobody's."""


def listed(connection: sa.Connection, scope: Scope, after: str, limit: int) -> list[Placed]:
    """Open places, in the order of their keys, those behind one."""
    query = sa.select(place.c.key, place.c.declared_by).where(
        place.c.open, _LISTED, place.c.key > after, _seen(connection, scope)
    )
    rows = connection.execute(query.order_by(place.c.key).limit(limit)).all()
    known = places.many(connection, [row.key for row in rows])
    there = _there(connection, known)
    return [_placed(known[row.key], row.declared_by, there[row.key]) for row in rows]


def is_seen(connection: sa.Connection, scope: Scope, key: str) -> bool:
    query = sa.select(sa.exists().where(place.c.key == key, place.c.open, _LISTED, _seen(connection, scope)))
    return bool(connection.execute(query).scalar())


def _seen(connection: sa.Connection, scope: Scope) -> sa.ColumnElement[bool]:
    match scope:
        case OperatorScope():
            return sa.true()
        case PersonScope(person=person):
            there = _is_there(person)
            return sa.or_(_SHARED, there) if visible(connection, scope).decides else there
        case _:
            return sa.false()


def _is_there(person: PersonId) -> sa.ColumnElement[bool]:
    room = place.alias("room")
    where = (
        sa.select(presence.c.place_key)
        .select_from(
            handle.join(presence, presence.c.address == handle.c.address).join(
                room, sa.and_(room.c.key == presence.c.place_key, room.c.channel == handle.c.channel)
            )
        )
        .where(handle.c.person_id == person, presence.c.until.is_(None))
    )
    return place.c.key.in_(where)


Owners = Mapping[str, Person | None]
"""Accounts that are in a place, and whose they are."""


def _there(connection: sa.Connection, known: Mapping[str, Known]) -> Mapping[str, Owners]:
    found: dict[str, list[str]] = {key: [] for key in known}
    query = sa.select(presence.c.place_key, presence.c.address).where(
        presence.c.place_key.in_(sorted(known)), presence.c.until.is_(None)
    )
    for row in connection.execute(query):
        found[row.place_key].append(row.address)
    owners: dict[str, Mapping[str, Person]] = {}
    for channel in {each.channel for each in known.values()}:
        addresses = [address for key, those in found.items() if known[key].channel == channel for address in those]
        owners[channel] = people.by_handle(connection, channel, addresses)
    return {key: {each: owners[known[key].channel].get(each) for each in those} for key, those in found.items()}


def _placed(known: Known, declared_by: str | None, there: Owners) -> Placed:
    active = {each.id: each for each in there.values() if each is not None and each.active}
    strangers = len([each for each in there.values() if each is None or not each.active])
    return Placed(known, declared_by, tuple(sorted(active.values(), key=lambda each: each.name)), strangers)
