"""What the model costs and how much may be spent: pure.

Money is counted in millionths of a US dollar (micros): tokens times dollars for a million tokens is just that. A day,
and a month, is the company's, by its time zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.llm.model import Usage

MICROS = 1_000_000


class Purpose(StrEnum):
    """What a call is for."""

    ANSWER = "answer"
    CONSULT = "consult"
    GATE = "gate"
    COMPACTION = "compaction"
    EXTRACTION = "extraction"


class Limit(StrEnum):
    COMPANY = "company"
    COMPANY_MONTH = "company_month"
    PERSON = "person"
    PERSON_MONTH = "person_month"
    SESSION = "session"
    SCHEDULED = "scheduled"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, and the model's context window in tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    window: int

    def of(self, usage: Usage) -> int:
        """Micros, rounded."""
        return round(
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_written * self.cache_write
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Micros by limit; what is left out has none. `warn`: the share at which a warning is given."""

    most: Mapping[Limit, int]
    warn: float


@dataclass(frozen=True, slots=True)
class Spender:
    """On whose account a call goes. `bill` names the work that it is part of: a turn's or a task's id."""

    bill: str
    person: PersonId | None
    session: SessionId | None
    turn: TurnId | None = None
    scheduled: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """One limit as it stands for one subject in one window of time."""

    limit: Limit
    subject: str
    """Person or session; empty where the limit is everybody's."""
    since: date
    resets_at: datetime
    most: int

    @property
    def key(self) -> tuple[Limit, str, date]:
        return self.limit, self.subject, self.since


def accounts(limits: Limits, spender: Spender, now: datetime, zone: str) -> Iterator[Account]:
    """Every limit that a call of this spender has to keep."""
    subjects = {
        Limit.COMPANY: "",
        Limit.COMPANY_MONTH: "",
        Limit.PERSON: spender.person,
        Limit.PERSON_MONTH: spender.person,
        Limit.SESSION: spender.session,
        Limit.SCHEDULED: "" if spender.scheduled else None,
    }
    for limit, most in limits.most.items():
        subject = subjects[limit]
        if subject is not None:
            since, until = window(limit, now, zone)
            yield Account(limit, subject, since, midnight(until, zone), most)


def window(limit: Limit, now: datetime, zone: str) -> tuple[date, date]:
    """First day of the limit's window of time, and the first day after it."""
    today = local_day(now, zone)
    if limit in (Limit.COMPANY_MONTH, Limit.PERSON_MONTH):
        first = today.replace(day=1)
        return first, (first + timedelta(days=32)).replace(day=1)
    return today, today + timedelta(days=1)


def local_day(now: datetime, zone: str) -> date:
    return now.astimezone(ZoneInfo(zone)).date()


def midnight(day: date, zone: str) -> datetime:
    """The first instant of a day of the zone, as UTC."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)


class OverBudgetError(PermanentError):
    """A limit leaves no room for the call; nothing was asked."""

    def __init__(self, account: Account, spent: int) -> None:
        super().__init__(f"the budget is used up ({account.limit.value})")
        self.account = account
        self.spent = spent


_WHOSE = {
    Limit.COMPANY: "the company's budget for today",
    Limit.COMPANY_MONTH: "the company's budget for this month",
    Limit.PERSON: "your budget for today",
    Limit.PERSON_MONTH: "your budget for this month",
    Limit.SESSION: "this conversation's budget for today",
    Limit.SCHEDULED: "the budget for scheduled work of today",
}


def refusal(account: Account, spent: int, time_zone: str, *, figures: bool) -> str:
    """What the asker is told, with the end of the limit in their own zone. `figures`: they may know the amounts."""
    amount = f" ({dollars(spent)} of {dollars(account.most)} spent)" if figures else ""
    return (
        f"I cannot answer now: {_WHOSE[account.limit]} is used up{amount}. It begins anew "
        f"{instant(account.resets_at, time_zone)}; what you wrote is kept. Whoever runs me can raise the limit "
        f"(`budget.{account.limit.value}`)."
    )


def warning(account: Account, spent: int, time_zone: str) -> str:
    share = round(100 * spent / account.most) if account.most else 100
    return (
        f"*{share}% of {_WHOSE[account.limit]} is spent ({dollars(spent)} of {dollars(account.most)}); it begins anew "
        f"{instant(account.resets_at, time_zone)}.*"
    )


def standing(account: Account, spent: int, time_zone: str) -> str:
    """One line of `/usage`."""
    whose = _WHOSE[account.limit][:1].upper() + _WHOSE[account.limit][1:]
    return f"- {whose}: {dollars(spent)} of {dollars(account.most)} spent; anew {instant(account.resets_at, time_zone)}"


def instant(at: datetime, time_zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(time_zone)):%A %Y-%m-%d at %H:%M} ({time_zone})"


def dollars(micros: int) -> str:
    """Two places, four for less than ten cents."""
    return f"{micros / MICROS:.2f} USD" if micros >= MICROS // 10 or micros == 0 else f"{micros / MICROS:.4f} USD"
