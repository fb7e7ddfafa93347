from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Desk(rooms)
