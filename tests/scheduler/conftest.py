from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.scheduler.test_worker import Desk


@pytest.fixture
def desk(database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Desk:
    return Desk(database, recorder, clock, supervisor)
