"""SQL of people and handles. Functions take the unit's connection; writing ones record what they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, PersonChanged, Record
from bot.audit.recorder import Recorder
from bot.kernel.ids import PersonId
from bot.people.model import Change, Handle, Origin, Person, Role
from bot.people.tables import handle, person
from bot.storage.database import Tx
from bot.storage.metadata import exactly

# On the path of every message: built once.
_BY_HANDLE = (
    sa.select(person, handle.c.address)
    .select_from(handle.join(person, person.c.id == handle.c.person_id))
    .where(
        handle.c.channel == sa.bindparam("channel"),
        handle.c.address.in_(sa.bindparam("addresses", expanding=True)),
    )
)
_ACTIVE = (
    sa.select(person.c.id, person.c.name, person.c.departments)
    .where(person.c.active)
    .order_by(person.c.created_at, person.c.id)
)
_BY_IDS = sa.select(person).where(person.c.id.in_(sa.bindparam("ids", expanding=True)))
_HANDLES_OF = sa.select(handle).where(handle.c.person_id.in_(sa.bindparam("ids", expanding=True)))


def by_handle(connection: sa.Connection, channel: str, addresses: Iterable[str]) -> dict[str, Person]:
    """The people, active or not, who own these addresses of a channel, by address."""
    wanted = sorted(set(addresses))
    if not wanted:
        return {}
    rows = connection.execute(_BY_HANDLE, {"channel": channel, "addresses": wanted})
    return {row.address: _person(row, ()) for row in rows}


def get(connection: sa.Connection, person_id: PersonId) -> Person | None:
    rows = connection.execute(_BY_IDS, {"ids": [person_id]}).all()
    return _with_handles(connection, rows)[0] if rows else None


def by_ids(connection: sa.Connection, ids: Sequence[PersonId]) -> dict[PersonId, Person]:
    """People without their handles, by id."""
    if not ids:
        return {}
    rows = connection.execute(_BY_IDS, {"ids": sorted(set(ids))})
    return {PersonId(row.id): _person(row, ()) for row in rows}


def everyone(connection: sa.Connection) -> list[Person]:
    """All people with their handles, in order of their ids."""
    return _load(connection, sa.true())


def page(
    connection: sa.Connection, words: str, after: PersonId | None, limit: int, *, active: bool, named: bool
) -> list[Person]:
    """A page of people with their handles, in the order of their names. `words`: a part of the name; `named`: on the
    roster, not only vouched for by a platform."""
    vouched = exactly(person.c.origin, Origin.WORKSPACE.value)
    where = [person.c.active == active, ~vouched if named else vouched]
    if words:
        where.append(person.c.name.icontains(words, autoescape=True))
    order = sa.func.lower(person.c.name)
    if after is not None:
        key = sa.select(order, person.c.id).where(person.c.id == after).correlate(None)
        row = connection.execute(key).first()
        if row is not None:
            where.append(sa.tuple_(order, person.c.id) > sa.tuple_(row[0], row[1]))
    rows = connection.execute(sa.select(person).where(*where).order_by(order, person.c.id).limit(limit)).all()
    return _with_handles(connection, rows)


def active(connection: sa.Connection) -> list[tuple[PersonId, str, tuple[str, ...]]]:
    """Id, name and departments of everyone who is active: after every turn somebody looks whom it named."""
    return [(PersonId(row.id), row.name, tuple(row.departments)) for row in connection.execute(_ACTIVE)]


def principals(connection: sa.Connection) -> list[Person]:
    """Active principals, the one who was there first before the others."""
    return _load(connection, sa.and_(person.c.role == Role.PRINCIPAL.value, person.c.active))


def apply(tx: Tx, recorder: Recorder, changes: Sequence[Change], now: datetime) -> None:
    """Write a reconciliation. Handles of origin `settings` follow the settings, paired ones stay."""
    for change in changes:
        after = change.person
        values = {
            "name": after.name,
            "role": after.role.value,
            "departments": list(after.departments),
            "time_zone": after.time_zone,
            "quiet_hours": list(after.quiet_hours) if after.quiet_hours else None,
            "origin": after.origin.value,
            "active": after.active,
            "changed_at": now,
        }
        if change.kind == "added":
            tx.execute(person.insert().values(id=after.id, created_at=now, **values))
        else:
            tx.execute(person.update().where(person.c.id == after.id).values(values))
        if after.active:  # the handles of the deactivated stay: they are told from strangers by them
            _follow_settings(tx, after, now)
        recorder.record(
            tx,
            Record(PersonChanged(after.id, change.kind, after.origin.value)),  # type: ignore[arg-type]
        )


def _follow_settings(tx: Tx, after: Person, now: datetime) -> None:
    wanted = {(h.channel, h.address): h for h in after.handles if h.origin is Origin.SETTINGS}
    stored = tx.execute(
        sa.select(handle.c.channel, handle.c.address).where(
            handle.c.person_id == after.id, handle.c.origin == Origin.SETTINGS.value
        )
    )
    present = {(row.channel, row.address) for row in stored}
    for channel, address in sorted(present - wanted.keys()):
        tx.execute(handle.delete().where(handle.c.channel == channel, handle.c.address == address))
    for key in sorted(wanted.keys() - present):
        add_handle(tx, after.id, wanted[key], now)


def add_handle(tx: Tx, person_id: PersonId, owned: Handle, now: datetime) -> None:
    """Give an address to a person; an address has one owner, so an earlier owner loses it."""
    tx.execute(handle.delete().where(handle.c.channel == owned.channel, handle.c.address == owned.address))
    tx.execute(
        handle.insert().values(
            channel=owned.channel,
            address=owned.address,
            person_id=person_id,
            origin=owned.origin.value,
            reachable=True,
            created_at=now,
        )
    )


def add(tx: Tx, recorder: Recorder, new: Person, actor: Actor, now: datetime) -> None:
    """Add a person who did not come from settings, with their handles."""
    tx.execute(
        person.insert().values(
            id=new.id,
            name=new.name,
            role=new.role.value,
            departments=list(new.departments),
            time_zone=new.time_zone,
            quiet_hours=list(new.quiet_hours) if new.quiet_hours else None,
            origin=new.origin.value,
            active=True,
            created_at=now,
            changed_at=now,
        )
    )
    for owned in new.handles:
        add_handle(tx, new.id, owned, now)
    recorder.record(tx, Record(PersonChanged(new.id, "added", new.origin.value), actor))


def deactivate(tx: Tx, recorder: Recorder, person_id: PersonId, actor: Actor, now: datetime) -> bool:
    """Take away a person's entry. False if there is no such active person."""
    done = tx.execute(
        person.update().where(person.c.id == person_id, person.c.active).values(active=False, changed_at=now)
    )
    if not done.rowcount:
        return False
    recorder.record(tx, Record(PersonChanged(person_id, "deactivated", "command"), actor))
    return True


def reactivate(tx: Tx, recorder: Recorder, person_id: PersonId, actor: Actor, now: datetime) -> None:
    tx.execute(person.update().where(person.c.id == person_id).values(active=True, changed_at=now))
    recorder.record(tx, Record(PersonChanged(person_id, "reactivated", "command"), actor))


def edit(
    tx: Tx,
    recorder: Recorder,
    seen: Person,
    name: str,
    role: Role,
    departments: Sequence[str],
    actor: Actor,
    now: datetime,
) -> None:
    """Name a person who does not come from settings; whom nobody had named before is on the roster now."""
    origin = Origin.PAIRED if seen.origin is Origin.WORKSPACE else seen.origin
    values = {"name": name, "role": role.value, "departments": list(departments), "origin": origin.value}
    tx.execute(person.update().where(person.c.id == seen.id).values(changed_at=now, **values))
    if role is not seen.role:
        recorder.record(tx, Record(PersonChanged(seen.id, "role", "command"), actor, text=f"{seen.role} → {role}"))
    if (name, tuple(departments), origin) != (seen.name, seen.departments, seen.origin):
        recorder.record(tx, Record(PersonChanged(seen.id, "updated", "command"), actor))


def prefer(
    tx: Tx,
    recorder: Recorder,
    seen: Person,
    time_zone: str,
    quiet_hours: tuple[str, str] | None,
    actor: Actor,
    now: datetime,
) -> None:
    values = {"time_zone": time_zone, "quiet_hours": list(quiet_hours) if quiet_hours else None}
    tx.execute(person.update().where(person.c.id == seen.id).values(changed_at=now, **values))
    recorder.record(tx, Record(PersonChanged(seen.id, "updated", "command"), actor))


def remove_handle(tx: Tx, recorder: Recorder, person_id: PersonId, owned: Handle, actor: Actor) -> bool:
    """Take an address from a person. False if it is not theirs."""
    mine = (handle.c.channel == owned.channel, handle.c.address == owned.address, handle.c.person_id == person_id)
    if not tx.execute(handle.delete().where(*mine)).rowcount:
        return False
    recorder.record(tx, Record(PersonChanged(person_id, "handle_removed", "command"), actor, text=owned.channel))
    return True


def was_greeted(connection: sa.Connection, channel: str, address: str) -> bool:
    """Whether this account was told once what becomes of its words. True for accounts of nobody."""
    row = connection.execute(
        sa.select(handle.c.greeted_at).where(handle.c.channel == channel, handle.c.address == address)
    ).first()
    return row is None or row.greeted_at is not None


def greet(tx: Tx, channel: str, address: str, now: datetime) -> None:
    tx.execute(
        handle.update()
        .where(handle.c.channel == channel, handle.c.address == address, handle.c.greeted_at.is_(None))
        .values(greeted_at=now)
    )


def set_reachable(tx: Tx, channel: str, address: str, *, reachable: bool) -> None:
    """Remember that a person blocked (or unblocked) the executive on a channel."""
    tx.execute(
        handle.update().where(handle.c.channel == channel, handle.c.address == address).values(reachable=reachable)
    )


def _load(connection: sa.Connection, where: sa.ColumnElement[bool]) -> list[Person]:
    rows = connection.execute(sa.select(person).where(where).order_by(person.c.created_at, person.c.id)).all()
    return _with_handles(connection, rows)


def _with_handles(connection: sa.Connection, rows: Sequence[Any]) -> list[Person]:
    owned: dict[str, list[Handle]] = {row.id: [] for row in rows}
    for row in connection.execute(_HANDLES_OF, {"ids": list(owned)}):
        owned[row.person_id].append(Handle(row.channel, row.address, Origin(row.origin)))
    return [_person(row, owned[row.id]) for row in rows]


def _person(row: Any, handles: Iterable[Handle]) -> Person:
    return Person(
        PersonId(row.id),
        row.name,
        Role(row.role),
        tuple(row.departments),
        row.time_zone,
        tuple(row.quiet_hours) if row.quiet_hours else None,
        Origin(row.origin),
        row.active,
        frozenset(handles),
    )
