"""What was spent on the model, summed up. Numbers and names of models; nothing of what was said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa
from pydantic import Field

from bot.control.request import Request
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.llm import spending
from bot.llm.budget import local_day
from bot.llm.spending import By
from bot.people import store as people
from bot.storage.database import Database


class Usage(Request):
    by: By = "day"
    days: int = Field(31, ge=1, le=3_660)
    """Days of the company that are summed up, today included."""


@dataclass(frozen=True, slots=True)
class Spending:
    database: Database
    clock: Clock
    time_zone: str
    """The company's."""

    async def usage(self, request: Usage) -> Mapping[str, object]:
        since = local_day(self.clock.now(), self.time_zone) - timedelta(days=request.days - 1)

        def query(connection: sa.Connection) -> tuple[list[spending.Sum], dict[str, str]]:
            names = {person.id: person.name for person in people.everyone(connection)} if request.by == "person" else {}
            return spending.sums(connection, request.by, since, None), {str(key): name for key, name in names.items()}

        sums, names = await self.database.read(query, long=True)
        lines = [
            {
                "key": one.key,
                "name": names.get(one.key),
                "calls": one.calls,
                "input": one.usage.input,
                "output": one.usage.output,
                "cache_read": one.usage.cache_read,
                "cache_written": one.usage.cache_written,
                "micros": one.micros,
            }
            for one in sums
        ]
        return {"since": since.isoformat(), "lines": lines}
