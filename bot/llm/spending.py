"""SQL of what was spent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Literal

import sqlalchemy as sa

from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.llm.budget import Limit, Purpose, Spender
from bot.llm.model import Usage
from bot.llm.tables import budget_warning, spend
from bot.storage.database import Tx

By = Literal["day", "model", "person", "purpose"]
MOST_LINES = 400


@dataclass(frozen=True, slots=True)
class Line:
    """One call on the bill."""

    id: str
    at: datetime
    day: date
    spender: Spender
    purpose: Purpose
    model: str
    usage: Usage
    micros: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Sum:
    key: str
    calls: int
    usage: Usage
    micros: int


Key = tuple[Limit, str, date]


def add(tx: Tx, line: Line) -> None:
    tx.append(
        spend,
        {
            "id": line.id,
            "at": line.at,
            "day": line.day.isoformat(),
            "person_id": line.spender.person,
            "session_id": line.spender.session,
            "turn_id": line.spender.turn,
            "scheduled": line.spender.scheduled,
            "purpose": line.purpose.value,
            "model": line.model,
            "input": line.usage.input,
            "output": line.usage.output,
            "cache_read": line.usage.cache_read,
            "cache_written": line.usage.cache_written,
            "micros": line.micros,
            "estimated": line.estimated,
        },
    )


def totals(connection: sa.Connection, today: date) -> Mapping[Key, int]:
    """What was spent in the current windows of every limit, in micros."""
    first = today.replace(day=1)
    rows = connection.execute(
        sa.select(spend.c.day, spend.c.person_id, spend.c.session_id, spend.c.scheduled, sa.func.sum(spend.c.micros))
        .where(spend.c.day >= first.isoformat())
        .group_by(spend.c.day, spend.c.person_id, spend.c.session_id, spend.c.scheduled)
    )
    found: dict[Key, int] = {}
    for day, person, session, scheduled, micros in rows:
        keys: list[Key] = [(Limit.COMPANY_MONTH, "", first)]
        if person is not None:
            keys.append((Limit.PERSON_MONTH, person, first))
        if day == today.isoformat():
            keys.append((Limit.COMPANY, "", today))
            keys += [(Limit.PERSON, person, today)] if person is not None else []
            keys += [(Limit.SESSION, session, today)] if session is not None else []
            keys += [(Limit.SCHEDULED, "", today)] if scheduled else []
        for key in keys:
            found[key] = found.get(key, 0) + micros
    return found


def warned(connection: sa.Connection) -> set[Key]:
    rows = connection.execute(sa.select(budget_warning))
    return {(Limit(row.budget), row.subject, date.fromisoformat(row.since)) for row in rows}


def note_warning(tx: Tx, key: Key) -> None:
    limit, subject, since = key
    values = {"budget": limit.value, "subject": subject, "since": since.isoformat()}
    tx.execute(budget_warning.insert().prefix_with("OR IGNORE").values(values))


def sums(connection: sa.Connection, by: By, since: date, of: PersonId | None) -> list[Sum]:
    """What was spent since a day (the company's), the newest or the dearest first, `MOST_LINES` at most. `of`: for this
    person only; None: for everybody."""
    column = {
        "day": spend.c.day,
        "model": spend.c.model,
        "person": sa.func.coalesce(spend.c.person_id, ""),
        "purpose": spend.c.purpose,
    }[by]
    figures = [
        sa.func.sum(each).label(each.name)
        for each in (spend.c.input, spend.c.output, spend.c.cache_read, spend.c.cache_written, spend.c.micros)
    ]
    order = column.desc() if by == "day" else sa.desc("micros")
    rows = connection.execute(
        sa.select(column.label("key"), sa.func.count().label("calls"), *figures)
        .where(spend.c.day >= since.isoformat(), sa.true() if of is None else spend.c.person_id == of)
        .group_by(column)
        .order_by(order)
        .limit(MOST_LINES)
    )
    return [Sum(r.key, r.calls, Usage(r.input, r.output, r.cache_read, r.cache_written), r.micros) for r in rows.all()]
