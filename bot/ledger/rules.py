"""Who may decide what, how long it may wait, and when silence counts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.people.model import Person, Role


@dataclass(frozen=True, slots=True)
class Rules:
    expires_after: timedelta = timedelta(days=2)
    remind_before: timedelta = timedelta(hours=6)
    """A reminder goes out so long before the end; none if a proposal has less time than twice that."""
    by_class: Mapping[str, tuple[PersonId, ...]] = field(default_factory=dict)
    """Who decides on a class of actions, the first one asked first."""
    heads: Mapping[str, PersonId] = field(default_factory=dict)
    """Of departments."""
    deputies: Mapping[PersonId, PersonId] = field(default_factory=dict)
    """Who may decide too, for somebody."""
    two_persons: frozenset[str] = frozenset()
    """Classes that need two approvers."""


def approvers(rules: Rules, action: str, department: str | None, people: Sequence[Person]) -> tuple[PersonId, ...]:
    """Who may decide: those of the class, else the department's head, else the principals; each followed by their
    deputy. People who are gone are left out; where nobody is left, the principals decide."""
    active = {person.id for person in people if person.active and person.role is not Role.GUEST}
    principals = tuple(person.id for person in people if person.active and person.role is Role.PRINCIPAL)
    named = rules.by_class.get(action, ())
    if not named and department is not None and department in rules.heads:
        named = (rules.heads[department],)
    with_deputies = [each for one in named for each in (one, rules.deputies.get(one)) if each is not None]
    found = tuple(dict.fromkeys(each for each in with_deputies if each in active))
    if not found:
        with_deputies = [each for one in principals for each in (one, rules.deputies.get(one)) if each is not None]
        found = tuple(dict.fromkeys(each for each in with_deputies if each in active))
    if action in rules.two_persons and len(found) < 2:
        found = tuple(dict.fromkeys((*found, *principals)))
    return found


def reminder_at(rules: Rules, made_at: datetime, expires_at: datetime) -> datetime | None:
    if expires_at - made_at < 2 * rules.remind_before:
        return None
    return expires_at - rules.remind_before


def outside_quiet_hours(at: datetime, person: Person) -> datetime:
    """The first instant from `at` on that is not in the person's quiet hours."""
    if person.quiet_hours is None:
        return at
    zone = ZoneInfo(person.time_zone)
    begins, ends = (tuple(map(int, each.split(":"))) for each in person.quiet_hours)
    local = at.astimezone(zone)
    clock = (local.hour, local.minute)
    quiet = begins <= clock < ends if begins <= ends else clock >= begins or clock < ends
    if not quiet:
        return at
    end = local.replace(hour=ends[0], minute=ends[1], second=0, microsecond=0)
    if end <= local:
        end = (end + timedelta(days=1)).replace(hour=ends[0], minute=ends[1])
    return end.astimezone(at.tzinfo)
