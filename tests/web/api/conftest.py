from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.audit.recorder import Recorder
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE, Rooms
from tests.web.api.site import Site, serving


@pytest.fixture
async def site(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Site]:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    async with serving(Desk(rooms)) as site:
        yield site
