"""Queries that grow with the library find their rows by an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
import sqlalchemy as sa

from bot.kernel.ids import ChunkId, DocumentId, PersonId, SectionId
from bot.kernel.scope import PersonScope
from bot.knowledge import passages, shelf, store
from bot.knowledge.passages import View
from bot.retrieval import store as embeddings
from bot.storage.database import Database

GROWING = {"chunk", "section", "embedding", "document", "document_department"}
VIEW = View(("public", "company"))
NARROW = View(("public", "company"), "finance", "board")
QUERIES: dict[str, Callable[[sa.Connection], object]] = {
    "by words": lambda c: passages.by_words(c, '"cash"', VIEW, 40),
    "by words, narrowed": lambda c: passages.by_words(c, '"cash"', NARROW, 40),
    "ids within": lambda c: passages.ids_within(c, NARROW, 40),
    "rows": lambda c: passages.rows(c, [ChunkId("a"), ChunkId("b")], NARROW),
    "a section": lambda c: passages.of_section(c, SectionId("a"), VIEW),
    "to embed": lambda c: passages.to_embed(c, ["a", "b"]),
    "chunks of a document": lambda c: passages.chunk_ids(c, DocumentId("a")),
    "contents": lambda c: passages.contents(c, DocumentId("a"), 10),
    "waiting for vectors": lambda c: embeddings.waiting(c, "model", 10),
    "some vectors": lambda c: embeddings.some(c, "model", ["a", "b"]),
    "a page of vectors": lambda c: embeddings.embedded(c, "model", "", 10),
    "a document": lambda c: store.get(c, DocumentId("a")),
    "users of a file": lambda c: store.uses_blob(c, "x", DocumentId("a")),  # type: ignore[arg-type]
}


async def _plans(database: Database, work: Callable[[sa.Connection], object]) -> list[str]:
    """How each statement of the work is run."""
    statements: list[tuple[str, object]] = []

    def query(connection: sa.Connection) -> list[str]:
        def seen(_c: object, _cursor: object, text: str, values: object, *_: object) -> None:
            statements.append((text, values))

        sa.event.listen(connection, "before_cursor_execute", seen)
        work(connection)
        sa.event.remove(connection, "before_cursor_execute", seen)
        plans = []
        for text, values in statements:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)  # type: ignore[arg-type]
            plans += [row.detail for row in plan]
        return plans

    return await database.read(query)


@pytest.mark.parametrize("name", QUERIES)
async def test_no_growing_table_is_read_from_end_to_end(database: Database, name: str) -> None:
    plans = await _plans(database, QUERIES[name])
    assert plans
    scanned = [plan for plan in plans if plan.split()[0] == "SCAN" and plan.split()[1] in GROWING]
    assert scanned == []


def test_the_values_of_this_room_are_frozen() -> None:
    view = View(("public",))
    for value, name in ((view, "audiences"), (shelf.Wanted(), "words")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, "other")


PERSON = PersonScope(PersonId("anna"))
OF_A_SHELF: dict[str, Callable[[sa.Connection], object]] = {
    "one": lambda c: shelf.one(c, PERSON, DocumentId("a")),
    "a page": lambda c: shelf.page(c, PERSON, shelf.Wanted(), DocumentId("b"), 30),
    "passages": lambda c: shelf.passages(c, PERSON, DocumentId("a"), 3, 12),
    "a position": lambda c: shelf.position(c, PERSON, SectionId("a")),
}


@pytest.mark.parametrize("name", OF_A_SHELF)
async def test_a_page_of_the_shelf_looks_through_documents_alone_and_along_an_index(
    database: Database, name: str
) -> None:
    """There are thousands of documents at most; of passages there are many more."""
    plans = await _plans(database, OF_A_SHELF[name])
    scanned = [plan for plan in plans if plan.startswith("SCAN ") and plan.split()[1] in GROWING | {"person", "handle"}]
    assert [plan for plan in scanned if not plan.startswith("SCAN document USING ")] == []
