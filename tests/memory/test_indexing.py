"""The search index follows claims and the transcript by itself: what is committed is found, what is not believed any
more is not, and nothing is found outside its space."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.kernel.ids import SessionId
from bot.kernel.supervise import Supervisor
from bot.memory import store
from bot.memory.indexing import Indexing, waits
from bot.memory.model import Op, Source, Status, Visibility
from bot.memory.ranking import IndexRanker
from bot.memory.recall import COMPANY, own_space
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.use3 import Use3
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.memory.claims import MARTA, claim, written

OWN = own_space(SessionId("s1"), 0)


@pytest.fixture
async def ranker(database: Database, clock: FakeClock, supervisor: Supervisor) -> AsyncIterator[IndexRanker]:
    index = RecallIndex(database, [Use3()], supervisor, lambda tx: None, patience=timedelta(seconds=20))
    indexing = Indexing(database, index)

    async def first_search() -> None:
        await index.catch_up()

    yield IndexRanker(index, indexing, clock, first_search)
    await index.close()


async def _found(ranker: IndexRanker, query: str, *spaces: str) -> list[str]:
    return [hit.id for hit in await ranker.claims(query, spaces or (OWN,), 10)]


async def test_a_claim_is_found_as_soon_as_it_is_committed(
    database: Database, recorder: Recorder, clock: FakeClock, ranker: IndexRanker
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    assert await _found(ranker, "When do we launch?") == [one.id]
    assert not await database.read(waits)


async def test_it_is_found_in_its_own_space_only(
    database: Database, recorder: Recorder, clock: FakeClock, ranker: IndexRanker
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    assert await _found(ranker, "launch", own_space(SessionId("s2"), 0), own_space(SessionId("s1"), 1), COMPANY) == []

    def promote(tx: Tx) -> None:
        store.change(tx, recorder, one, Op.PROMOTED, MARTA, clock.now(), "all", visibility=Visibility.COMPANY)

    await database.write(promote)
    assert await _found(ranker, "launch", COMPANY) == [one.id]
    assert await _found(ranker, "launch") == []


@pytest.mark.parametrize(
    "values",
    [{"status": Status.RETRACTED}, {"source": Source.DELETED}, {"statement": "Nothing is settled about the fair."}],
    ids=["retracted", "source deleted", "other words"],
)
async def test_what_changes_changes_in_the_index(
    database: Database, recorder: Recorder, clock: FakeClock, ranker: IndexRanker, values: dict[str, object]
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    assert await _found(ranker, "launch in March") == [one.id]
    await database.write(
        lambda tx: store.change(tx, recorder, one, Op.EDITED, MARTA, clock.now(), "so", **values)  # type: ignore[arg-type]
    )
    hits = await ranker.claims("launch March", (OWN,), 10)
    assert hits == [] or "statement" in values


async def test_an_erased_claim_leaves_no_row_in_the_index(
    database: Database, recorder: Recorder, clock: FakeClock, ranker: IndexRanker
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    await _found(ranker, "launch")
    await database.write(lambda tx: store.erase(tx, recorder, one, MARTA, clock.now()))
    assert await _found(ranker, "launch") == []
    rows = await database.read(lambda c: c.execute(sa.text("SELECT count(*) FROM recall_row")).scalar())
    assert rows == 0


async def test_what_the_index_lost_is_counted_and_brought_in_again(
    database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor
) -> None:
    index = RecallIndex(database, [Use3()], supervisor, lambda tx: None)
    indexing = Indexing(database, index)
    await written(database, recorder, claim(clock.now()))
    await written(database, recorder, claim(clock.now(), subject="other/thing"))
    assert await indexing.bring() == 2
    assert await indexing.differences() == 0
    await database.write(lambda tx: tx.execute(sa.text("DELETE FROM recall_row WHERE seq = 1")))
    assert await indexing.differences() == 1
    assert await indexing.differences() == 0
    assert await indexing.anew() == 2
    await index.close()
