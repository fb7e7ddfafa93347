from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.audit.recorder import Recorder
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.extraction.reading import Reader
from tests.orchestrator.office import Office
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def reader(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Reader]:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    office = Office(database, recorder, clock, rooms)
    await office.open()
    yield await Reader(office).open()
    await office.close()
