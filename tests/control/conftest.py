from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bot.audit.recorder import Recorder
from bot.control import ops
from bot.kernel.logs import Redactor
from bot.people import store
from bot.people.model import Change, Handle, Origin, Role
from bot.storage.database import Database
from tests.channels.support import HandClock
from tests.control.desk import KEY, Desk, person


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = HandClock()
    forgotten: list[bool] = []

    async def status() -> Mapping[str, object]:
        return {"version": "0.0.0"}

    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database.open(tmp_path / "store.db"))
        recorder = await Recorder.open(database, clock, KEY, Redactor())
        anna = person("anna", Role.PRINCIPAL, Origin.SETTINGS, Handle("telegram", "1", Origin.SETTINGS))
        await database.write(lambda tx: store.apply(tx, recorder, [Change(anna, "added")], clock.now()))
        handlers = ops.handlers(
            database,
            recorder,
            clock,
            status,
            lambda: forgotten.append(True),
            audit_key=KEY,
            time_zone="Europe/Berlin",
            company="Acme",
            outbox=None,
        )
        yield Desk(database, recorder, clock, handlers, forgotten)
