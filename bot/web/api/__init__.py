"""The HTTP API: JSON over the daemon's own server, for programs that act as one person.

`auth` lets in who carries a person's token, `routing` reads what is asked into models and answers in models, `model`
holds these, `memories` does it, and `openapi` writes all of that down from the same models. Whoever asks sees what
their person sees (`PersonScope`) and may do what their person may do; what they may not see is not there (404).
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.memory.service import Eraser
from bot.storage.database import Database
from bot.web.api import routing
from bot.web.api.auth import Door
from bot.web.api.memories import Desk


def routes(
    database: Database,
    recorder: Recorder,
    clock: Clock,
    eraser: Eraser,
    version: str,
    on_refused: Callable[[str], None],
) -> list[Route]:
    """`on_refused` hears why a request was turned away (`api_…`)."""
    door = Door(database, recorder, clock, on_refused)
    desk = Desk(database, recorder, clock, eraser)
    return routing.routes(desk.operations(), door, version, on_refused)
