"""The HTTP API: JSON over the daemon's own server, for programs that act as one person.

`auth` lets in who carries a person's token, `routing` reads what is asked into models and answers in models, `model`
holds these, `memories`, `proposals` and `schedules` do it, and `openapi` writes all of that down from the same models.
Whoever asks sees what their person sees (`PersonScope`) and may do what their person may do; what they may not see is
not there (404).
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.memory.service import Eraser
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.storage.database import Database
from bot.web.api import routing
from bot.web.api.auth import Door
from bot.web.api.memories import Desk
from bot.web.api.proposals import Proposals
from bot.web.api.routing import Operation
from bot.web.api.schedules import ScheduleApi
from bot.web.console.visits import Visitors


def routes(
    database: Database,
    recorder: Recorder,
    clock: Clock,
    eraser: Eraser,
    version: str,
    on_refused: Callable[[str], None],
    clerk: Clerk | None = None,
    schedules: ScheduleDesk | None = None,
    visitors: Visitors | None = None,
) -> list[Route]:
    """`on_refused` hears why a request was turned away (`api_…`). `clerk`: None where nothing is put to anybody;
    `schedules`: None where nothing fires; `visitors`: None where there is no console."""
    door = Door(database, recorder, clock, on_refused, visitors)
    return routing.routes(
        operations(Desk(database, recorder, clock, eraser), clerk, schedules), door, version, on_refused
    )


def operations(desk: Desk, clerk: Clerk | None, schedules: ScheduleDesk | None) -> list[Operation]:
    """All that can be asked."""
    return [
        *desk.operations(),
        *([] if clerk is None else Proposals(clerk).operations()),
        *([] if schedules is None else ScheduleApi(schedules).operations()),
    ]
