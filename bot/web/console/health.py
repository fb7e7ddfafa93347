"""Health: whether the channels receive and why not, the model, what waits and what failed, the files, the versions; and
for principals the settings in force."""

from __future__ import annotations

import asyncio
import platform
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version as installed
from typing import Any

from starlette.routing import Route

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.ids import TaskId
from bot.people.model import Role
from bot.storage.database import Database, Tx
from bot.storage.migrations import HEAD
from bot.tasks import store as tasks
from bot.tasks.store import Listed
from bot.web.console.house import House
from bot.web.console.site import Moved, Page, Site
from bot.web.console.storage import measured
from bot.web.console.visits import Notice, Visit
from bot.web.pages import Status
from bot.web.refusals import Refusal, UnknownThingError

SHOWN = 50
"""Tasks in trouble, the newest."""
LIBRARIES = ("sqlalchemy", "starlette", "anthropic", "chromadb")
KINDS = {"memory.extract": "Reading a turn for memories"}


class HealthPage:
    def __init__(self, database: Database, recorder: Recorder, clock: Clock, status: Status, house: House) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._status = status
        self._house = house

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/settings", self.show),
            site.page("/settings/storage", self.storage),
            site.page("/settings/all", self.settings),
            site.page("/settings/tasks/{task}/retry", self.retry, method="POST"),
            site.page("/settings/tasks/{task}/drop", self.drop, method="POST"),
        ]

    async def show(self, visit: Visit) -> Page:
        status = {**_UNTOLD, **await self._status()}
        failed: list[Listed] = []
        if _principal(visit):
            failed = await self._database.read(lambda c: tasks.in_trouble(c, SHOWN))
        seconds = status["uptime_seconds"]
        values = {
            "status": status,
            "up": timedelta(seconds=seconds) if isinstance(seconds, int) else None,
            "failed": failed,
            "kinds": KINDS,
            "principal": _principal(visit),
            "versions": await asyncio.to_thread(_versions),
        }
        return Page("settings/health.html", values, "now")

    async def storage(self, visit: Visit) -> Page:
        """Asked for by the page once it is there: files have to be counted for it."""
        _only_principals(visit)
        found, kept = await asyncio.to_thread(lambda: (measured(self._house.data_dir), list(self._house.backups())))
        values = {"files": found, "backups": kept[::-1], "folder": str(self._house.backup_folder)}
        return Page("settings/storage.html", values, "storage")

    async def settings(self, visit: Visit) -> Page:
        _only_principals(visit)
        every = visit.asked("show") == "all"
        groups: dict[str, list[tuple[str, str, str]]] = {}
        for key, value, source in self._house.settings:
            if every or source != "default":
                groups.setdefault(key.partition(".")[0], []).append((key, value, source))
        return Page("settings/all.html", {"groups": groups, "every": every, "principal": True})

    async def retry(self, visit: Visit) -> Moved:
        await self._change(
            visit, lambda tx, task, actor: tasks.revive(tx, self._recorder, task, actor, self._clock.now())
        )
        return Moved("/settings", Notice("It is tried again."))

    async def drop(self, visit: Visit) -> Moved:
        reason = visit.field("reason").strip()
        if not reason:
            raise Refusal(422, "unclear", "Say why: the reason is recorded.")
        await self._change(visit, lambda tx, task, actor: tasks.drop(tx, self._recorder, task, actor, reason))
        return Moved("/settings", Notice("It will not be done."))

    async def _change(self, visit: Visit, change: Callable[[Tx, TaskId, Actor], bool]) -> None:
        _only_principals(visit)
        task, actor = TaskId(visit.request.path_params["task"]), Actor("person", visit.person.id)
        if not await self._database.write(lambda tx: change(tx, task, actor)):
            raise UnknownThingError("There is no such task in that state any more.")
        self._house.ring()


_UNTOLD: dict[str, object] = {
    "channels": {},
    **dict.fromkeys(("version", "uptime_seconds", "model", "store", "outbox", "inbox_last_day", "tasks")),
}


def _versions() -> list[tuple[str, str]]:
    found: list[tuple[str, Any]] = [
        ("Python", platform.python_version()),
        ("SQLite", sqlite3.sqlite_version),
        ("Shape of the store", HEAD),
    ]
    return found + [(name, installed(name)) for name in LIBRARIES]


def _principal(visit: Visit) -> bool:
    return visit.person.role is Role.PRINCIPAL


def _only_principals(visit: Visit) -> None:
    if not _principal(visit):
        raise UnknownThingError("There is nothing here that you may see.")
