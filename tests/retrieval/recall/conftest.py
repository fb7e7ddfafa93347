from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.retrieval.recall.desk import Desk


@pytest.fixture
async def desk(database: Database, supervisor: Supervisor) -> AsyncIterator[Desk]:
    desk = Desk(database, supervisor)
    yield desk
    for index in desk.open:
        await index.close()
