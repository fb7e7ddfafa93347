from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.outbox.post import Post


@pytest.fixture
async def post(database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Post:
    return Post(database, recorder, clock, supervisor)
