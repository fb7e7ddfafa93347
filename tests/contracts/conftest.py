"""A bench per far end. `@pytest.mark.parametrize("name", those(...), indirect=True)` narrows to those that can."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.orchestrator import introductions
from tests.contracts.bench import Bench, FarEnd
from tests.contracts.benches import FAR_ENDS
from tests.contracts.core import Core, living


@pytest.fixture(params=list(FAR_ENDS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def far(name: str) -> AsyncIterator[tuple[FarEnd, Path]]:
    # Short, so that a socket's path is.
    with TemporaryDirectory(prefix="oe-") as folder:
        data = Path(folder)
        async with FAR_ENDS[name](data) as end:
            yield end, data


@pytest.fixture
async def built(far: tuple[FarEnd, Path]) -> AsyncIterator[Bench]:
    """The adapter is made and does not run yet."""
    bench = Bench(*far)
    yield bench
    await bench.stop()


@pytest.fixture
async def bench(built: Bench) -> AsyncIterator[Bench]:
    await built.start()
    yield built
    built.assert_alive()


@pytest.fixture
async def core(far: tuple[FarEnd, Path]) -> AsyncIterator[Core]:
    async with living(*far) as found:
        yield found


@pytest.fixture
def quick_introductions(monkeypatch: pytest.MonkeyPatch) -> None:
    """New places are looked for at once instead of every ten seconds."""
    monkeypatch.setattr(introductions, "LOOK_EVERY", timedelta(milliseconds=50))
