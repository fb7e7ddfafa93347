"""What is known of rooms. Every judgement that changes is written with its reason; a widening raises the audience
epoch of the room's sessions, so that what was said before is no longer shown there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import SYSTEM, Actor, Record, RoomChanged
from bot.audit.recorder import Recorder
from bot.gateway.events import Place, PlaceKind, ReplyPath
from bot.kernel.ids import SessionId
from bot.kernel.values import dataclass
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.audience import Audience, Evidence, judge
from bot.sessions.manners import Hearing
from bot.sessions.tables import place, presence, session
from bot.storage.database import Tx

_WORD = {PlaceKind.MAIL: "thread", PlaceKind.DIRECT: "conversation"} | dict.fromkeys(
    (PlaceKind.GROUP, PlaceKind.CHANNEL), "place"
)


@dataclass(frozen=True, slots=True)
class Known:
    key: str
    channel: str
    kind: PlaceKind
    title: str
    declared: Audience | None
    members: int | None
    insiders: bool | None
    """See `Place.insiders`."""
    audience: Audience
    because: str
    open: bool
    """The executive is in it."""
    hears: Hearing
    untold: bool
    """It counts as wider than before, and its readers have not been told so."""

    @property
    def verdict(self) -> str:
        """What its people are told when it is judged differently (Markdown)."""
        return f"From now on I treat this {_WORD[self.kind]} as **{self.audience.value}**: {self.because}."


@dataclass(frozen=True, slots=True)
class Shift:
    """The judgement of a known room changed."""

    place: Known
    before: Audience
    widened: bool
    sessions: tuple[SessionId, ...]


_SHARED = place.c.kind.in_((PlaceKind.GROUP.value, PlaceKind.CHANNEL.value))
_GET = sa.select(place).where(place.c.key == sa.bindparam("place"))


def get(connection: sa.Connection, key: str) -> Known | None:
    row = connection.execute(_GET, {"place": key}).first()
    return None if row is None else _known(row)


def alone(known: Known | None, person: Person, *, by_mail: bool = False) -> bool:
    """Whether a person who speaks in a place is alone there with the executive, so that it may show what is theirs from
    anywhere: it is a direct conversation, and nobody else reads it. A guest's counts as external because of the guest,
    and is theirs; what it shows is what a guest may see, nothing of the company.

    A mail thread is none: it lies in mailboxes and is passed on. `by_mail`: it counts as one if nobody else reads it,
    for what is decided by mail too.
    """
    if known is None:
        return False
    if known.kind is PlaceKind.DIRECT:
        return known.audience is Audience.PERSON or not person.internal
    return by_mail and known.kind is PlaceKind.MAIL and known.audience is Audience.PERSON


def many(connection: sa.Connection, keys: Collection[str]) -> dict[str, Known]:
    rows = connection.execute(sa.select(place).where(place.c.key.in_(sorted(set(keys)))))
    return {row.key: _known(row) for row in rows}


def everywhere(connection: sa.Connection) -> list[Known]:
    return [_known(row) for row in connection.execute(sa.select(place).where(place.c.open).order_by(place.c.key))]


def see(
    tx: Tx, recorder: Recorder, channel: str, key: str, seen: Place, present: Collection[str], now: datetime
) -> Shift | None:
    """Take in what the platform tells of a room: the accounts in `present` are in it now. Makes the room if it is new.

    Returns the shift if a room that was known is judged differently now.
    """
    before = get(tx.connection, key)
    if before is None:
        tx.execute(
            place.insert().values(
                key=key,
                channel=channel,
                kind=seen.kind.value,
                title=seen.title,
                members=seen.members,
                insiders=seen.insiders,
                audience=Audience.EXTERNAL.value,
                because="not judged yet",
                changed_at=now,
            )
        )
    elif (seen.members is not None and seen.members != before.members) or (seen.title and seen.title != before.title):
        members = before.members if seen.members is None else seen.members
        tx.execute(place.update().where(place.c.key == key).values(title=seen.title or before.title, members=members))
    if before is not None and seen.insiders is not None and seen.insiders != before.insiders:
        tx.execute(place.update().where(place.c.key == key).values(insiders=seen.insiders))
    if before is not None and not before.open:
        tx.execute(place.update().where(place.c.key == key).values(open=True))
    _arrive(tx, key, present, now)
    return rejudge(tx, recorder, key, now, new=before is None)


def doubt(tx: Tx, key: str) -> None:
    """Somebody came: what the platform vouched for before is worth nothing until it says it again."""
    tx.execute(place.update().where(place.c.key == key).values(insiders=None))


def leave(
    tx: Tx, recorder: Recorder, key: str, address: str, now: datetime, members: int | None = None
) -> Shift | None:
    """An account left the room. `members`: how many are left, if the platform tells; else one fewer than before."""
    gone = tx.execute(
        presence.update()
        .where(presence.c.place_key == key, presence.c.address == address, presence.c.until.is_(None))
        .values(until=now)
    )
    left = place.c.members - gone.rowcount if members is None else members
    tx.execute(place.update().where(place.c.key == key).values(members=left))
    return rejudge(tx, recorder, key, now, new=False)


def declare(tx: Tx, recorder: Recorder, key: str, audience: Audience, actor: Actor, now: datetime) -> Shift | None:
    """A principal says what the place is. Evidence still decides whether it can be believed."""
    tx.execute(place.update().where(place.c.key == key).values(declared=audience.value, declared_by=actor.id))
    shift = rejudge(tx, recorder, key, now, new=False, actor=actor)
    after = get(tx.connection, key)
    if shift is None and after is not None:  # what was said is kept, though it changes nothing yet
        stays = after.audience.value
        told = RoomChanged(key, stays, stays, after.because, (), widened=False)
        recorder.record(tx, Record(told, actor, text=f"said to be {audience}"))
    return shift


def listen(tx: Tx, key: str, hearing: Hearing) -> None:
    """Say what is heard (and stored) in this place."""
    tx.execute(place.update().where(place.c.key == key).values(hears=hearing.value))


def untold(connection: sa.Connection, session_id: SessionId) -> Known | None:
    """The place of a session, if its readers have yet to be told that it counts as wider than before."""
    query = sa.select(place).join(session, session.c.place_key == place.c.key).where(session.c.id == session_id)
    row = connection.execute(query.where(place.c.untold)).first()
    return None if row is None else _known(row)


def told(tx: Tx, key: str) -> None:
    tx.execute(place.update().where(place.c.key == key).values(untold=False))


def undescribed(connection: sa.Connection) -> int:
    """Rooms of which nobody has said what they are."""
    query = sa.select(sa.func.count()).select_from(place)
    return connection.execute(query.where(place.c.declared.is_(None), place.c.open, _SHARED)).scalar_one()


def unasked(connection: sa.Connection) -> list[Known]:
    """Rooms of which nobody has said what they are, and no principal was asked."""
    rows = connection.execute(
        sa.select(place).where(
            place.c.asked_at.is_(None),
            place.c.declared.is_(None),
            place.c.open,
            _SHARED,
        )
    )
    return [_known(row) for row in rows]


def mark_asked(tx: Tx, key: str, now: datetime) -> bool:
    """False if a principal was asked already."""
    done = tx.execute(place.update().where(place.c.key == key, place.c.asked_at.is_(None)).values(asked_at=now))
    return bool(done.rowcount)


def close(tx: Tx, key: str, now: datetime) -> None:
    """The executive was put out of the place. What was known of its members is worth nothing from now on: should it
    come back, the place is `external` until there is fresh evidence."""
    tx.execute(place.update().where(place.c.key == key).values(open=False, members=None, insiders=None, changed_at=now))
    tx.execute(presence.update().where(presence.c.place_key == key, presence.c.until.is_(None)).values(until=now))


def move(tx: Tx, recorder: Recorder, old: str, new: str, now: datetime) -> Shift | None:
    """The platform gave the place a new key. If events under the new key came first, the two become one: who is known
    to be in either is in it, and what a principal said of the old one holds. Returns the shift if the sessions of the
    old place are in a place that is judged differently now."""
    before, other = get(tx.connection, old), get(tx.connection, new)
    if before is None or old == new:
        return None
    if other is None:
        tx.execute(place.update().where(place.c.key == old).values(key=new, changed_at=now))
        return None
    present = tx.execute(
        sa.select(presence.c.address).where(presence.c.place_key == old, presence.c.until.is_(None))
    ).scalars()
    _arrive(tx, new, present.all(), now)
    tx.execute(session.update().where(session.c.place_key == old).values(place_key=new))
    tx.execute(presence.delete().where(presence.c.place_key == old))
    declared = tx.execute(
        place.delete().where(place.c.key == old).returning(place.c.declared, place.c.declared_by)
    ).one()
    if other.declared is None:
        tx.execute(
            place.update()
            .where(place.c.key == new)
            .values(declared=declared.declared, declared_by=declared.declared_by)
        )
    # From the narrower of the two: what was said in that one must not be shown in a wider place.
    narrower = min(before.audience, other.audience, key=lambda audience: audience.width)
    tx.execute(place.update().where(place.c.key == new).values(audience=narrower.value))
    return rejudge(tx, recorder, new, now, new=False)


def rejudge(tx: Tx, recorder: Recorder, key: str, now: datetime, *, new: bool, actor: Actor = SYSTEM) -> Shift | None:
    """Judge the room from what is known now and write the judgement if it changed."""
    known = get(tx.connection, key)
    if known is None:
        return None
    judgement = judge(_evidence(tx.connection, known))
    if judgement.audience is known.audience and judgement.because == known.because:
        return None
    tx.execute(
        place.update()
        .where(place.c.key == key)
        .values(audience=judgement.audience.value, because=judgement.because, open=True, changed_at=now)
    )
    after = replace(known, audience=judgement.audience, because=judgement.because)
    if judgement.audience is known.audience and not new:
        return None
    widened = not new and judgement.audience.wider_than(known.audience)
    if known.kind is PlaceKind.MAIL:  # a mail for this alone would be one too many
        tx.execute(place.update().where(place.c.key == key).values(untold=widened))
    sessions = _sessions(tx, key, widened=widened)
    recorder.record(
        tx,
        Record(
            RoomChanged(
                key,
                None if new else known.audience.value,
                judgement.audience.value,
                judgement.because,
                sessions,
                widened,
            ),
            actor,
        ),
    )
    return None if new else Shift(after, known.audience, widened, sessions)


def present(connection: sa.Connection, key: str, channel: str) -> list[Person]:
    """The people of the roster who are known to be in a place."""
    rows = connection.execute(
        sa.select(presence.c.address).where(presence.c.place_key == key, presence.c.until.is_(None))
    )
    owners = people.by_handle(connection, channel, [row.address for row in rows])
    return sorted({each.id: each for each in owners.values()}.values(), key=lambda each: each.id)


def _sessions(tx: Tx, key: str, *, widened: bool) -> tuple[SessionId, ...]:
    if not widened:
        rows = tx.execute(sa.select(session.c.id).where(session.c.place_key == key))
    else:
        rows = tx.execute(
            session.update()
            .where(session.c.place_key == key)
            .values(audience_epoch=session.c.audience_epoch + 1)
            .returning(session.c.id)
        )
    return tuple(SessionId(row.id) for row in rows)


def _arrive(tx: Tx, key: str, addresses: Collection[str], now: datetime) -> None:
    if addresses:
        # Who left and came back within one instant (a batch has one) is in it, though the interval is there already.
        tx.execute(
            presence.update()
            .where(presence.c.place_key == key, presence.c.address.in_(sorted(set(addresses))), presence.c.since == now)
            .values(until=None)
        )
        tx.execute(
            presence.insert().prefix_with("OR IGNORE"),
            [{"place_key": key, "address": address, "since": now} for address in sorted(set(addresses))],
        )


def _evidence(connection: sa.Connection, known: Known) -> Evidence:
    rows = connection.execute(
        sa.select(presence.c.address).where(presence.c.place_key == known.key, presence.c.until.is_(None))
    )
    addresses = [row.address for row in rows]
    owners: Mapping[str, Person] = people.by_handle(connection, known.channel, addresses)
    internal = {owners[a].id for a in addresses if a in owners and owners[a].internal}
    guests = {owners[a].id for a in addresses if a in owners and owners[a].active and not owners[a].internal}
    unknown = [a for a in addresses if a not in owners or not owners[a].active]
    return Evidence(known.kind, known.declared, len(internal), len(guests), len(unknown), known.members, known.insiders)


def _known(row: Any) -> Known:
    return Known(
        row.key,
        row.channel,
        PlaceKind(row.kind),
        row.title,
        Audience(row.declared) if row.declared else None,
        row.members,
        row.insiders,
        Audience(row.audience),
        row.because,
        row.open,
        Hearing(row.hears),
        row.untold,
    )


def path_into(known: Known) -> ReplyPath:
    """Where something is said to a whole room."""
    return ReplyPath(thread=known.key, address="")
