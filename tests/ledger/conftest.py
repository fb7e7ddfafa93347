from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.ledger.workshop import Workshop
from tests.outbox.post import Post


@pytest.fixture
def post(database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Post:
    return Post(database, recorder, clock, supervisor)


@pytest.fixture
async def shop(post: Post) -> Workshop:
    return await Workshop(post).open()
