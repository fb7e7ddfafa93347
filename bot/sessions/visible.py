"""What a scope may see, of the company and of what belongs to sessions: pure SQL over rooms, people and who is where.

A room sees what everyone in it may see. So a department's things are shown in a room only if each of the people in it
belongs to the department, and an `external` room sees what is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import DepartmentScope, OperatorScope, PersonScope, Scope, SessionScope
from bot.kernel.values import dataclass
from bot.people import store as people
from bot.people.model import Person, Role
from bot.people.tables import handle
from bot.people.tables import person as person_table
from bot.sessions.audience import Audience
from bot.sessions.tables import place, presence, session


@dataclass(frozen=True, slots=True)
class CompanyView:
    """What is public is seen by every scope."""

    company: bool = False
    departments: frozenset[str] = field(default=frozenset())
    every_department: bool = False


PUBLIC_ONLY = CompanyView()


def company_view(connection: sa.Connection, scope: Scope) -> CompanyView:
    match scope:
        case SessionScope():
            return _of_session(connection, scope.session)
        case PersonScope():
            return _of_person(people.get(connection, scope.person))
        case DepartmentScope():
            return CompanyView(company=True, departments=frozenset({scope.department}))
        case OperatorScope():
            return CompanyView(company=True, every_department=True)


@dataclass(frozen=True, slots=True)
class Visible:
    """What a scope may be shown of things that belong to a session, one of its audience epochs and an instant."""

    scope: Scope
    company: CompanyView
    epoch: int | None = None
    """Of a `SessionScope`: only what was said to the same readers is shown, not what was before a widening."""
    decides: bool = False
    """Of a principal's `PersonScope`: what somebody asks to be shown to the company is put before them."""

    def within(
        self,
        session_id: sa.ColumnElement[str],
        audience_epoch: sa.ColumnElement[int],
        at: sa.ColumnElement[datetime],
    ) -> sa.ColumnElement[bool]:
        """The condition for rows that are the session's own. Company-wide things are asked for with `company`."""
        match self.scope:
            case SessionScope(session=own):
                return sa.and_(session_id == own, audience_epoch == self.epoch)
            case PersonScope(person=person):
                return _while_present(person, session_id, at)
            case DepartmentScope():
                return sa.false()
            case OperatorScope():
                return sa.true()


def visible(connection: sa.Connection, scope: Scope) -> Visible:
    """What the scope stands for at this moment. A session that is not there sees nothing."""
    epoch = None
    if isinstance(scope, SessionScope):
        epoch = connection.execute(_EPOCH, {"session": scope.session}).scalar()
    return Visible(scope, company_view(connection, scope), -1 if epoch is None else epoch, _decides(connection, scope))


def of_session(session_id: SessionId, audience_epoch: int, company: CompanyView) -> Visible:
    """What a session sees, of whom all this is known already."""
    return Visible(SessionScope(session_id), company, audience_epoch)


def _decides(connection: sa.Connection, scope: Scope) -> bool:
    if not isinstance(scope, PersonScope):
        return False
    person = people.get(connection, scope.person)
    return person is not None and person.active and person.role is Role.PRINCIPAL


_EPOCH = sa.select(session.c.audience_epoch).where(session.c.id == sa.bindparam("session"))


# On the path of every message: built once.
_ROOM = (
    sa.select(place.c.channel, place.c.audience, presence.c.address)
    .select_from(
        session.join(place, place.c.key == session.c.place_key).outerjoin(
            presence, sa.and_(presence.c.place_key == place.c.key, presence.c.until.is_(None))
        )
    )
    .where(session.c.id == sa.bindparam("session"))
)


def _while_present(
    person: PersonId, session_id: sa.ColumnElement[str], at: sa.ColumnElement[datetime]
) -> sa.ColumnElement[bool]:
    """The session stands in a room in which an account of the person was at that time. Looked up once for all rows are
    the sessions in which they ever were: most rows are of none of these."""
    joined = _rooms_of_accounts()
    ever = ever_in(person)
    then = (
        sa.select(sa.literal(1))
        .select_from(joined)
        .where(
            session.c.id == session_id,
            handle.c.person_id == person,
            presence.c.since <= at,
            sa.or_(presence.c.until.is_(None), presence.c.until > at),
        )
    )
    # As an expression the column is only looked at: by its index all rows would be gathered, and sorted, for one page.
    return sa.and_((session_id + "").in_(ever), sa.exists(then))


def ever_in(person: PersonId) -> sa.Select[tuple[str]]:
    """Ids of the sessions in whose room an account of the person ever was."""
    return sa.select(session.c.id).select_from(_rooms_of_accounts()).where(handle.c.person_id == person)


def _rooms_of_accounts() -> sa.Join:
    return (
        session.join(place, place.c.key == session.c.place_key)
        .join(presence, presence.c.place_key == place.c.key)
        .join(handle, sa.and_(handle.c.channel == place.c.channel, handle.c.address == presence.c.address))
    )


def only_guests_in(session_id: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """A guest is or was in the session's room, and nobody of the company ever. An account that is nobody's (any more)
    says nothing."""
    joined = (
        session.join(presence, presence.c.place_key == session.c.place_key)
        .join(handle, sa.and_(handle.c.channel == session.c.channel, handle.c.address == presence.c.address))
        .join(person_table, person_table.c.id == handle.c.person_id)
    )
    there = sa.select(sa.literal(1)).select_from(joined).where(session.c.id == session_id)
    guest = person_table.c.role == Role.GUEST.value
    return sa.and_(sa.exists(there.where(guest)), ~sa.exists(there.where(~guest)))


def person_view(connection: sa.Connection, person: PersonId) -> CompanyView:
    return _of_person(people.get(connection, person))


def _of_session(connection: sa.Connection, session_id: SessionId) -> CompanyView:
    there = connection.execute(_ROOM, {"session": session_id}).all()
    if not there or Audience(there[0].audience) is Audience.EXTERNAL:
        return PUBLIC_ONLY
    addresses = [row.address for row in there if row.address is not None]
    present = people.by_handle(connection, there[0].channel, addresses)
    if not all(person.internal for person in present.values()):
        return PUBLIC_ONLY  # the room's own judgement will say so too, once it has heard of it
    return CompanyView(company=True, departments=_shared(present.values()))


def _shared(present: Iterable[Person]) -> frozenset[str]:
    each = [frozenset(person.departments) for person in present]
    return frozenset.intersection(*each) if each else frozenset()


def _of_person(person: Person | None) -> CompanyView:
    if person is None or not person.internal:
        return PUBLIC_ONLY
    return CompanyView(company=True, departments=frozenset(person.departments))
