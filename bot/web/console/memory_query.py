"""What of the memories a page is asked for: the parameters of its address, read and written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from bot.kernel import days
from bot.kernel.faults import A_DAY
from bot.kernel.values import dataclass
from bot.memory.model import STANDING, Kind, Status, Work
from bot.memory.reading import AsOf, Filter
from bot.memory.service import UnclearError

E = TypeVar("E", bound=StrEnum)
LONGEST = 200
MOST_WORDS = 12


class Shown(StrEnum):
    """Which of them, by whether they are believed."""

    BELIEVED = "believed"
    PENDING = "pending"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    ALL = "all"


class Order(StrEnum):
    BEST = "best"
    NEWEST = "newest"


BELIEVED = tuple(Status(each) for each in STANDING)


@dataclass(frozen=True, slots=True)
class Query:
    """Names are those of the parameters."""

    q: str = ""
    kind: Kind | None = None
    status: Shown = Shown.BELIEVED
    work: Work | None = None
    department: str = ""
    domain: str = ""
    person: str = ""
    since: date | None = None
    until: date | None = None
    known: date | None = None
    """What was known at the end of this day."""
    order: Order = Order.BEST
    before: int | None = None

    @property
    def ranked(self) -> bool:
        """The best matches are wanted, not the newest. What is not believed now is in no ranking."""
        return bool(self.q) and self.order is Order.BEST and self.status is Shown.BELIEVED and self.known is None

    @property
    def narrowed(self) -> int:
        """By how many of the filters that stand aside."""
        chosen = (self.department, self.domain, self.person, self.since, self.until, self.known, self.work)
        return sum(1 for each in chosen if each) + (self.status is not Shown.BELIEVED)

    def filter(self, zone: str) -> Filter:
        """Days are those of the time zone. Raises `UnclearError`."""
        return Filter(
            kinds=() if self.kind is None else (self.kind,),
            statuses=() if self.known else self._statuses(),
            department=self.department or None,
            domain=self.domain or None,
            speaker=self.person or None,
            since=_instant(self.since, zone, days.begins),
            until=_instant(self.until, zone, days.follows),
            as_of=None if self.known is None else AsOf(known=_instant(self.known, zone, days.ends)),
            words=() if self.ranked else tuple(self.q.split()),
            works=() if self.work is None else (self.work,),
        )

    def _statuses(self) -> tuple[Status, ...]:
        match self.status:
            case Shown.BELIEVED:
                return BELIEVED
            case Shown.ALL:
                return ()
            case _:
                return (Status(self.status.value),)

    def path(self, **changes: object) -> str:
        """The page of this query, with changes; without a place in it, unless that is among them."""
        asked = replace(self, **{"before": None, **changes})  # type: ignore[arg-type]
        given = {each.name: getattr(asked, each.name) for each in fields(Query)}
        told = {name: str(value) for name, value in given.items() if value != _DEFAULTS[name]}
        return f"/memories?{urlencode(told)}" if told else "/memories"


_DEFAULTS: Mapping[str, object] = {each.name: each.default for each in fields(Query)}


def read(asked: Callable[[str], str]) -> Query:
    """`asked`: a parameter by name, "" without it. Raises `UnclearError`."""
    words = asked("q")
    if len(words) > LONGEST or len(words.split()) > MOST_WORDS:
        raise UnclearError(f"at most {MOST_WORDS} words can be looked for")
    return Query(
        q=words,
        kind=_one_of(Kind, "kind", asked("kind")),
        status=_one_of(Shown, "status", asked("status")) or Shown.BELIEVED,
        work=_one_of(Work, "work", asked("work")),
        department=asked("department")[:LONGEST],
        domain=asked("domain")[:LONGEST],
        person=asked("person")[:LONGEST],
        since=_day("since", asked("since")),
        until=_day("until", asked("until")),
        known=_day("known", asked("known")),
        order=_one_of(Order, "order", asked("order")) or Order.BEST,
        before=place(asked("before")),
    )


def place(given: str) -> int | None:
    """Where a page goes on. Raises `UnclearError`."""
    if not given:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise UnclearError("this page is not known here")
    return int(given)


def _one_of(kind: type[E], name: str, given: str) -> E | None:
    if not given:
        return None
    try:
        return kind(given)
    except ValueError as error:
        raise UnclearError(f"{name}: has to be one of {', '.join(kind)}") from error


def _day(name: str, given: str) -> date | None:
    if not given:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError as error:
        raise UnclearError(f"{name}: has to be {A_DAY}") from error


def _instant(day: date | None, zone: str, of_day: Callable[[date, str], datetime]) -> datetime | None:
    if day is None:
        return None
    try:
        return of_day(day, zone)
    except OverflowError as error:
        raise UnclearError(f"{day} is too far away") from error
