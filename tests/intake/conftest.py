from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.intake.desk import Desk
from tests.outbox.post import Post
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return rooms


@pytest.fixture
async def desk(rooms: Rooms, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Desk:
    return Desk(Post(database, recorder, clock, supervisor))
