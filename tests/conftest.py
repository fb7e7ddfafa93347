"""What every test may use: a clock moved by hand, and a store in a file of its own with its audit.

Room-specific stand-ins live beside the tests of their room.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.logs import Redactor
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock

# python-telegram-bot warns (and warnings are errors) unless told that its new kind of durations is wanted.
os.environ.setdefault("PTB_TIMEDELTA", "true")

# Whoever starts the tests in the background hands ignored signals down to every program that they start.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

ROOT = Path(__file__).parent.parent
KEY = bytes(range(32))
SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings must not leak into tests, nor tests into a developer's data folder."""
    for name in list(os.environ):
        if name.startswith("OPENEXECUTIVE_") or name in ("ANTHROPIC_API_KEY", "NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def all_tables() -> list[str]:
    """Import every room's tables, as the daemon does; the rooms' names."""
    modules = sorted(ROOT.glob("bot/*/tables.py"))
    for module in modules:
        importlib.import_module(".".join(module.relative_to(ROOT).with_suffix("").parts))
    return [module.parent.name for module in modules]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def database(all_tables: list[str], tmp_path: Path) -> AsyncIterator[Database]:
    async with Database.open(tmp_path / "store.db") as database:
        yield database


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    await supervisor.stop()


@pytest.fixture
async def recorder(database: Database, clock: FakeClock) -> Recorder:
    return await Recorder.open(database, clock, KEY, Redactor([SECRET]))
