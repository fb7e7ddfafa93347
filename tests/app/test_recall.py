"""When vectors are made: not before somebody searches, and then at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

import pytest
import sqlalchemy as sa

from bot.app import recall
from bot.app.opening import Store
from bot.app.recall import EMBED, Remembering
from bot.audit.recorder import Recorder
from bot.kernel.ids import BootId, SessionId
from bot.kernel.scope import SessionScope
from bot.kernel.supervise import Supervisor
from bot.memory.reading import EVERYTHING
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.tables import PENDING, task
from bot.tasks.worker import Done
from config.schema import Settings
from tests.clock import FakeClock
from tests.memory.claims import claim, written
from tests.retrieval.embedders import WordEmbedder
from tests.sessions.rooms import Rooms

BOOT = BootId("boot-1")


class Mind:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> None:
        self.database, self.recorder, self.clock = database, recorder, clock
        self.embedder = WordEmbedder()
        self.rung = 0
        store = Store(database, recorder, clock, b"k" * 32)
        self.remembering: Remembering = recall.build(store, Settings(), supervisor, self.embedder, self._ring)

    def _ring(self) -> None:
        self.rung += 1

    async def waiting(self) -> list[datetime]:
        """When each task that is to embed is to be run."""
        of = sa.select(task.c.run_at).where(task.c.kind == EMBED, task.c.state.in_(PENDING))
        return list((await self.database.read(lambda c: c.execute(of))).scalars())

    async def search(self, session: SessionId, text: str) -> None:
        await self.remembering.recall.best(SessionScope(session), text, EVERYTHING, 5)

    async def run(self) -> Done:
        """What the worker does with the task that is due."""
        now = self.clock.now()
        found = await self.database.write(lambda tx: tasks.claim_due(tx, BOOT, now))
        assert found is not None
        done = await self.remembering.handlers[found.kind](found)
        assert isinstance(done, Done)

        def finish(tx: Tx) -> None:
            assert tasks.finish(tx, self.recorder, found, BOOT, now, empty=done.empty)
            if done.apply is not None:
                done.apply(tx)

        await self.database.write(finish)
        return done


@pytest.fixture
async def mind(database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> AsyncIterator[Mind]:
    mind = Mind(database, recorder, clock, supervisor)
    yield mind
    await mind.remembering.index.close()


@pytest.fixture
async def session(rooms: Rooms) -> SessionId:
    await rooms.see(["2"], 2)
    return await rooms.open()


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    return Rooms(database, recorder, clock)


async def test_the_first_search_does_not_wait_behind_what_was_put_off(mind: Mind, session: SessionId) -> None:
    await written(mind.database, mind.recorder, claim(mind.clock.now(), session=session))
    await mind.remembering.indexing.bring()
    (later,) = await mind.waiting()
    assert later > mind.clock.now()
    assert mind.embedder.texts == []
    await mind.search(session, "When do we launch?")
    assert await mind.waiting() == [mind.clock.now()]
    assert mind.rung == 1
    assert not (await mind.run()).empty
    assert any("launch in March" in each for each in mind.embedder.texts)
    assert await mind.waiting() == []


async def test_what_is_put_while_others_are_embedded_is_not_left(
    mind: Mind, session: SessionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(mind.database, mind.recorder, claim(mind.clock.now(), session=session))
    await mind.search(session, "launch")
    catch_up = mind.remembering.index.catch_up

    async def and_then_more() -> int:
        made = await catch_up()
        more = claim(mind.clock.now(), session=session, statement="Rome is closed.", subject="rome")
        await written(mind.database, mind.recorder, more)
        await mind.remembering.indexing.bring()
        return made

    monkeypatch.setattr(type(mind.remembering.index), "catch_up", lambda _: and_then_more())
    await mind.run()
    monkeypatch.undo()
    assert await mind.waiting() == [mind.clock.now()]
    await mind.run()
    assert any("Rome is closed" in each for each in mind.embedder.texts)
