from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.audit.recorder import Recorder
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE, Rooms
from tests.web.console.site import Site, serving


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Desk(rooms)


@pytest.fixture
async def site(desk: Desk) -> AsyncIterator[Site]:
    async with serving(desk) as site:
        yield site
