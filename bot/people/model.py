"""People, handles and the reconciliation of the roster with settings (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum

from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass

_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
MOST_DEACTIVATED = 3
"""A start that would deactivate more people than this is taken for a damaged settings file."""


class Role(StrEnum):
    PRINCIPAL = "principal"
    MEMBER = "member"
    GUEST = "guest"


class Origin(StrEnum):
    SETTINGS = "settings"  # read-only elsewhere; gone from settings means deactivated
    PAIRED = "paired"  # never touched by reconciliation
    WORKSPACE = "workspace"  # nobody has named them: their platform vouches that they are of the company


@dataclass(frozen=True, slots=True)
class Handle:
    channel: str
    address: str
    """The platform's immutable id; mail addresses in lower case."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Person:
    id: PersonId
    name: str
    role: Role
    departments: tuple[str, ...]
    time_zone: str
    quiet_hours: tuple[str, str] | None
    origin: Origin
    active: bool = True
    handles: frozenset[Handle] = field(default=frozenset())

    @property
    def named(self) -> bool:
        """On the roster: somebody has named them. Others have no say in anything, whatever they ask."""
        return self.origin is not Origin.WORKSPACE

    @property
    def internal(self) -> bool:
        """Counts as one of the company: everyone active but guests."""
        return self.active and self.role is not Role.GUEST


class RosterError(PermanentError):
    """The roster in settings must not be taken as it stands."""


def checked_quiet_hours(begin: str, end: str) -> tuple[str, str]:
    """`HH:MM` each. Raises `PermanentError`."""
    if not (_CLOCK.fullmatch(begin) and _CLOCK.fullmatch(end)) or begin == end:
        raise PermanentError("quiet hours have a begin and an end, like 22:00 and 07:00")
    return begin, end


@dataclass(frozen=True, slots=True)
class Change:
    person: Person
    """As it shall be."""
    kind: str
    """`added`, `updated`, `reactivated` or `deactivated`."""


def reconcile(current: Sequence[Person], wanted: Mapping[PersonId, Person], *, accept: bool) -> list[Change]:
    """What must change so that the people of origin `settings` are those of `wanted`.

    Paired people, and paired handles of anyone, stay. Raises `RosterError` when the last active principal or more than
    `MOST_DEACTIVATED` people would be deactivated, unless `accept`.
    """
    known = {person.id: person for person in current}
    changes: list[Change] = []
    for person in wanted.values():
        before = known.get(person.id)
        if before is None:
            changes.append(Change(person, "added"))
            continue
        paired = frozenset(handle for handle in before.handles if handle.origin is Origin.PAIRED)
        theirs = {(handle.channel, handle.address) for handle in paired}
        named = frozenset(handle for handle in person.handles if (handle.channel, handle.address) not in theirs)
        after = replace(person, handles=named | paired)
        if after != before:
            changes.append(Change(after, "updated" if before.active else "reactivated"))
    gone = [p for p in current if p.origin is Origin.SETTINGS and p.active and p.id not in wanted]
    changes += [Change(replace(person, active=False), "deactivated") for person in gone]
    if not accept:
        _refuse_the_unlikely(current, changes, gone)
    return changes


def _refuse_the_unlikely(current: Sequence[Person], changes: Sequence[Change], gone: Sequence[Person]) -> None:
    after = {person.id: person for person in current} | {change.person.id: change.person for change in changes}
    had_principal = any(p.active and p.role is Role.PRINCIPAL for p in current)
    has_principal = any(p.active and p.role is Role.PRINCIPAL for p in after.values())
    names = ", ".join(person.name for person in gone)
    if had_principal and not has_principal:
        raise RosterError(
            f"the settings would leave nobody as principal (gone: {names or 'a changed role'}): "
            "put one back, or start once with --accept"
        )
    if len(gone) > MOST_DEACTIVATED:
        raise RosterError(f"the settings would deactivate {len(gone)} people ({names}): start once with --accept if so")
