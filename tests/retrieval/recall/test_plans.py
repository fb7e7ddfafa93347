"""What a search found is looked up by its refs, however many spaces it searched: SQLite would rather read these."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from bot.retrieval.recall import store
from bot.retrieval.recall.model import Kind, Span, Within
from bot.storage.database import Database


@pytest.mark.parametrize("spaces", [1, 2, 40])
async def test_what_was_found_is_looked_up_by_its_refs(database: Database, spaces: int) -> None:
    where = Within(Kind.CLAIM, tuple(Span(f"space{number}", 0, 0) for number in range(spaces)))
    asked: list[tuple[str, object]] = []

    def query(connection: sa.Connection) -> Sequence[str]:
        sa.event.listen(connection, "before_cursor_execute", lambda *given: asked.append((given[2], given[3])))
        store.still(connection, where, ["a", "b"])
        ((text, values),) = asked
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]  # type: ignore[arg-type]

    plan = await database.read(query)
    assert [each for each in plan if each.startswith("SEARCH recall_row")] == [
        "SEARCH recall_row USING INDEX sqlite_autoindex_recall_row_1 (kind=? AND ref=?)"
    ]
