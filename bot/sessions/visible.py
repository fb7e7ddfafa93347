"""What a scope may see of the company: pure SQL over rooms, people and who is where.

A room sees what everyone in it may see. So a department's things are shown in a room only if each of the people in it
belongs to the department, and an `external` room sees what is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlalchemy as sa

from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import DepartmentScope, OperatorScope, PersonScope, Scope, SessionScope
from bot.people import store as people
from bot.people.model import Person
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


def person_view(connection: sa.Connection, person: PersonId) -> CompanyView:
    return _of_person(people.get(connection, person))


def _of_session(connection: sa.Connection, session_id: SessionId) -> CompanyView:
    room = connection.execute(
        sa.select(place.c.key, place.c.channel, place.c.audience)
        .select_from(session.join(place, place.c.key == session.c.place_key))
        .where(session.c.id == session_id)
    ).first()
    if room is None or Audience(room.audience) is Audience.EXTERNAL:
        return PUBLIC_ONLY
    addresses = connection.execute(
        sa.select(presence.c.address).where(presence.c.place_key == room.key, presence.c.until.is_(None))
    )
    present = people.by_handle(connection, room.channel, [row.address for row in addresses])
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
