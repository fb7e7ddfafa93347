from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.desk import Desk
from tests.evaluation.lives.product import product


@pytest.fixture
async def desk(all_tables: list[str], tmp_path: Path) -> AsyncIterator[Desk]:
    async with product(tmp_path) as own:
        yield Desk(own)
