"""What is built is whole: every operation of the socket and every kind of task has somebody who does it."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import bot
from bot.app.building import build
from bot.app.doors import Doors
from bot.app.opening import adopt_roster, open_store
from bot.app.rooms import Rooms
from bot.kernel.clock import SystemClock
from bot.kernel.logs import Redactor
from config.schema import Settings

ALONE = {"status", "rooms", "explain", "usage", "today", "export"}
"""Operations whose room has no other."""
SOURCE = Path(inspect.getfile(bot)).parent


@pytest.fixture
async def rooms(tmp_path: Path) -> AsyncIterator[Rooms]:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    async with open_store(settings, Redactor([]), SystemClock()) as store:
        await adopt_roster(store, settings, accept=True)
        yield await build(store, settings)


async def test_every_operation_is_found_by_its_name(rooms: Rooms) -> None:
    table = Doors(rooms).operations()
    told = {name for path in sorted((SOURCE / "control").glob("ops*.py")) for name in _operations(path)}
    assert len(told) > 60
    assert {name for name in told if name not in table} == set()
    groups = {name.partition(".")[0] for name in table}
    assert groups == {name.partition(".")[0] for name in told} | set(rooms.channels["terminal"].local())


async def test_every_kind_of_task_that_is_queued_is_done_by_somebody(rooms: Rooms) -> None:
    queued = {kind for path in sorted(SOURCE.rglob("*.py")) for kind in _queued(path)}
    assert len(queued) > 12
    assert queued - set(rooms.tasks._handlers) == set()


def _operations(path: Path) -> Iterator[str]:
    """Keys of the tables that functions called `handlers` return; of those that are put together, no part."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef) and function.name == "handlers":
            for table in ast.walk(function):
                if isinstance(table, ast.Dict):
                    keys = [str(key.value) for key in table.keys if isinstance(key, ast.Constant)]
                    yield from (key for key in keys if "." in key or key in ALONE)


def _queued(path: Path) -> Iterator[str]:
    """Kinds that calls of `enqueue` name by a constant of the module."""
    text = path.read_text(encoding="utf-8")
    if "enqueue(" not in text:
        return
    module = import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("enqueue") and len(call.args) > 1:
            kind = getattr(module, ast.unparse(call.args[1]), None)
            if kind is not None:
                yield str(kind)


def test_what_opens_a_store_knows_the_tables_of_every_room() -> None:
    """A new store gets the tables that have been declared by then, and rooms are loaded when they are needed."""
    wanted = {f"bot.{path.parent.name}.tables" for path in SOURCE.glob("*/tables.py")}
    code = "import sys, bot.app; print(*(name for name in sys.modules if name.endswith('.tables')))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert wanted - set(run.stdout.split()) == set()
