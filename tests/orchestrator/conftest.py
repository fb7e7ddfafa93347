from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.audit.recorder import Recorder
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.orchestrator.house import House, open_house
from tests.orchestrator.office import Office
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return rooms


@pytest.fixture
async def office(rooms: Rooms, database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Office]:
    office = Office(database, recorder, clock, rooms)
    await office.open()
    yield office
    await office.close()


@pytest.fixture
async def house(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[House]:
    """Where what the model wants done waits for a yes."""
    house = await open_house(database, recorder, clock)
    yield house
    await house.office.close()
