from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.knowledge.desk import Desk, build


@pytest.fixture
async def desk(
    database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor, tmp_path: Path
) -> AsyncIterator[Desk]:
    desk = await build(tmp_path, database, recorder, clock, supervisor)
    desk.built_in.there.set()
    yield desk
    await supervisor.stop()
    await desk.index.close()
