"""The audit as one person may read it.

They see what happened in sessions whose room they were in at that time, what they did themselves, and, as a principal,
what was done to the company's people, doors, settings, backups and classes of actions. Words stand beside an entry
where the reader said them, or where they are told to everybody who sees it (`OPEN_TEXTS`): what was remembered,
proposed or sent is read at its own page, under its own rules.

A page looks through `MOST_LOOKED_AT` entries at most, along one index; one that was not filled says where to go on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.audit.tables import audit, content
from bot.audit.timeline import Entry, entry_of
from bot.kernel.ids import PersonId, SessionId, TurnId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.sessions.tables import place, session
from bot.sessions.visible import ever_in, visible
from bot.storage.metadata import exactly

MOST_LOOKED_AT = 20_000
PAGE = 50
_OUT_OF_ORDER = 1_000
"""Rows among which the clock may have been set back: ids follow time but for that."""

ADMINISTRATIVE = frozenset(
    {
        "daemon_started", "daemon_stopped", "setting_changed", "company_changed",
        "person_changed", "person_exported", "person_paired", "pairing_code", "pairing_requested",
        "auth_refused", "auth_login", "auth_logout", "token_changed", "message_refused",
        "backup_made", "backup_failed", "backup_restored", "erasure_done", "chain_verified", "audit_exported",
        "class_mode_changed", "breaker_tripped",
    }
)  # fmt: skip
"""What principals see of the whole company, where it belongs to no session."""
OPEN_TEXTS = frozenset(
    {
        "content_viewed", "session_erased",
        "backup_made", "backup_failed", "chain_verified", "class_mode_changed", "breaker_tripped",
    }
)  # fmt: skip
"""Whose words, reasons of people and of this program, are for everybody who sees the entry."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the visible is wanted; None and empty mean: not filtered by that."""

    types: Sequence[str] = ()
    actor: PersonId | None = None
    session: SessionId | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Half-open."""


EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Found:
    entries: list[Entry]
    """Newest first."""
    older: int | None
    """Ask again `before` this id; None: there is nothing older. The page may be short, or empty, all the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """A session that its reader may filter by."""

    session: SessionId
    channel: str
    kind: str
    title: str
    opened_at: datetime


def page(connection: sa.Connection, scope: PersonScope, wanted: Wanted, before: int | None, limit: int = PAGE) -> Found:
    """The newest entries, before an id."""
    first, end = _bounds(connection, wanted, before)
    driver = _driver(wanted)
    floor = _floor(connection, driver, end)
    where = [audit.c.id < end, audit.c.id >= max(first, floor), *_filters(wanted)]
    where += [] if driver is None else [driver]
    entries = _read(connection, scope, sa.and_(*where), limit + 1, audit.c.id.desc())
    if len(entries) > limit:
        return Found(entries[:limit], entries[limit - 1].id)
    return Found(entries, floor if floor > max(first, 1) else None)


def of_turn(connection: sa.Connection, scope: PersonScope, turn: TurnId) -> list[Entry]:
    """What happened in a turn, and later to what came of it, in order."""
    return _read(connection, scope, audit.c.turn_id == turn, 1_000, audit.c.id)


def places(connection: sa.Connection, scope: PersonScope, limit: int, of: Collection[str] | None = None) -> list[Place]:
    """The sessions (`of` these) in whose rooms the person ever was, the newest first."""
    query = (
        sa.select(session.c.id, session.c.channel, place.c.kind, place.c.title, session.c.opened_at)
        .select_from(session.join(place, place.c.key == session.c.place_key))
        .where(session.c.id.in_(ever_in(scope.person)))
        .order_by(session.c.opened_at.desc(), session.c.id.desc())
        .limit(limit)
    )
    if of is not None:
        query = query.where(session.c.id.in_(sorted(of)))
    rows = connection.execute(query)
    return [Place(SessionId(row.id), row.channel, row.kind, row.title, row.opened_at) for row in rows]


# --- inside -----------------------------------------------------------------------------------------------------------


def _read(
    connection: sa.Connection,
    scope: PersonScope,
    where: sa.ColumnElement[bool],
    limit: int,
    order: sa.ColumnElement[int],
) -> list[Entry]:
    """Entries that the scope may see. The planner is to find them along what `where` names: to all else the columns
    are expressions."""
    view = visible(connection, scope)
    kind = audit.c.type + ""
    own = sa.and_(audit.c.actor_kind + "" == "person", audit.c.actor + "" == scope.person)
    seen = [own, view.within(audit.c.session_id, sa.literal(0), audit.c.at)]  # a person's view knows no epochs
    if view.decides:
        seen.append(sa.and_(audit.c.session_id.is_(None), kind.in_(sorted(ADMINISTRATIVE))))
    told = sa.case((sa.or_(own, kind.in_(sorted(OPEN_TEXTS))), content.c.text))
    rows = connection.execute(
        sa.select(audit, told.label("text"), content.c.erased_at)
        .select_from(audit.outerjoin(content, content.c.id == audit.c.content_id))
        .where(where, sa.or_(*seen))
        .order_by(order)
        .limit(limit)
    )
    return [entry_of(row) for row in rows]


def _driver(wanted: Wanted) -> sa.ColumnElement[bool] | None:
    """What is narrowest of the wanted and has an index that goes on in the order of ids."""
    if wanted.session is not None:
        return audit.c.session_id == wanted.session
    if wanted.actor is not None:
        return sa.and_(exactly(audit.c.actor_kind, "person"), audit.c.actor == wanted.actor)
    if len(wanted.types) == 1:
        return audit.c.type == wanted.types[0]
    return None


def _filters(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    parts: list[sa.ColumnElement[bool]] = []
    if wanted.types:
        parts.append((audit.c.type + "").in_(sorted(wanted.types)))
    if wanted.actor is not None:
        parts += [audit.c.actor_kind + "" == "person", audit.c.actor + "" == wanted.actor]
    if wanted.since is not None:
        parts.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        parts.append(audit.c.at < wanted.until)
    return parts


def _bounds(connection: sa.Connection, wanted: Wanted, before: int | None) -> tuple[int, int]:
    """Ids between which the wanted stand: from the first, to before the second."""
    newest = int(connection.execute(sa.select(sa.func.max(audit.c.id))).scalar() or 0)
    end = newest + 1 if before is None else min(before, newest + 1)
    if wanted.until is not None:
        end = min(end, _first_since(connection, wanted.until, newest) + _OUT_OF_ORDER)
    first = 1
    if wanted.since is not None:
        first = max(first, _first_since(connection, wanted.since, newest) - _OUT_OF_ORDER)
    return first, end


def _first_since(connection: sa.Connection, at: datetime, newest: int) -> int:
    """About the first id of an instant, by halving: there is no index of instants."""
    low, high = 1, newest + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(_AT, {"id": middle}).first()
        if row is not None and row.at >= at:
            high = middle
        else:
            low = middle + 1
    return low


_AT = sa.select(audit.c.at).where(audit.c.id == sa.bindparam("id"))


def _floor(connection: sa.Connection, driver: sa.ColumnElement[bool] | None, end: int) -> int:
    """Down to which id a page looks; 0: to the end."""
    if driver is None:
        return max(0, end - MOST_LOOKED_AT)
    looked_at = (
        sa.select(audit.c.id).where(driver, audit.c.id < end).order_by(audit.c.id.desc()).limit(MOST_LOOKED_AT)
    ).subquery()
    count, lowest = connection.execute(sa.select(sa.func.count(), sa.func.min(looked_at.c.id))).one()
    return int(lowest) if count == MOST_LOOKED_AT else 0
