from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="oe-") as folder:
        yield Path(folder)
