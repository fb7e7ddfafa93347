from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.retrieval.shelf import Shelf


@pytest.fixture
async def shelf(database: Database, tmp_path: Path, supervisor: Supervisor) -> AsyncIterator[Shelf]:
    shelf = Shelf(database, tmp_path / "vectors", supervisor)
    yield shelf
    for index in shelf.open:
        await index.close()
