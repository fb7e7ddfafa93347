"""What people and programs do with memories, wired: the operations of the command line, the API, and telling somebody
that their private conversation was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from bot.app.opening import Store
from bot.control.memory_reader import VIEWED, notice
from bot.control.ops_memory import Counted, Operations
from bot.control.ops_tokens import Tokens
from bot.erasure.work import Tell
from bot.gateway.channel import LocalHandler
from bot.kernel.ids import PersonId
from bot.memory.service import Eraser
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler


def handlers(tell: Tell) -> Mapping[str, Handler]:
    """Durable work: it is told also if nobody can be reached now, or no daemon runs."""

    async def viewed(task: Task) -> Done:
        return Done(await tell(PersonId(task.payload["person"]), notice(task.payload)))

    return {VIEWED: viewed}


def operations(
    store: Store,
    eraser: Eraser,
    ring: Callable[[], None],
    reindexed: Counted | None = None,
    differences: Counted | None = None,
) -> Mapping[str, LocalHandler]:
    """Of the socket, and of commands that work without a daemon. `ring` wakes whoever runs tasks; `reindexed` makes the
    index of memories anew, `differences` counts what it has otherwise than the store: None where there is none."""
    memory = Operations(store.database, store.recorder, store.clock, eraser, reindexed, differences, ring)
    return {**memory.handlers(), **Tokens(store.database, store.recorder, store.clock).handlers()}


def routes(store: Store, eraser: Eraser, version: str, on_refused: Callable[[str], None]) -> Sequence[Any]:
    """Of the API. Loads the web server's library."""
    made: Sequence[Any] = import_module("bot.web.api").routes(
        store.database, store.recorder, store.clock, eraser, version, on_refused
    )
    return made
