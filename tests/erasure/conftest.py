from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.audit.recorder import Recorder
from bot.people import store as people
from bot.storage.database import Database
from tests.clock import START, FakeClock
from tests.orchestrator.office import Office
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def office(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Office]:
    """Where everybody has been greeted."""
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)

    for address in ("1", "2", "3", "4"):
        await database.write(lambda tx, a=address: people.greet(tx, "test", a, START))  # type: ignore[misc]
    office = Office(database, recorder, clock, rooms)
    await office.open()
    yield office
    await office.close()


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="oe-") as folder:
        yield Path(folder)
