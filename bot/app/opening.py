"""Opening the store of a data folder, and making its roster follow the settings. The daemon and the commands that work
without one need the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.app.settings import roster
from bot.audit.chain import load_key
from bot.audit.events import SYSTEM
from bot.audit.recorder import Recorder
from bot.kernel import logs
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.people import store as people
from bot.people.model import reconcile
from bot.scheduler.service import Schedules
from bot.storage.database import Database, Tx
from config.schema import Settings


@dataclass(frozen=True, slots=True)
class Store:
    """The open store with its audit: what the daemon and the offline commands both need."""

    database: Database
    recorder: Recorder
    clock: Clock
    audit_key: bytes


@asynccontextmanager
async def open_store(settings: Settings, redactor: logs.Redactor, clock: Clock) -> AsyncIterator[Store]:
    """Open the data folder's store. The caller holds the folder's lock."""
    key = await asyncio.to_thread(load_key, settings.data_dir / "keys" / "audit.key")
    async with Database.open(settings.data_dir / "openexecutive.db") as database:
        yield Store(database, await Recorder.open(database, clock, key, redactor), clock, key)


async def adopt_roster(store: Store, settings: Settings, *, accept: bool) -> None:
    """Make the stored roster follow the settings. Raises `RosterError` if that must not happen unasked."""
    wanted = roster(settings)

    def unit(tx: Tx) -> None:
        changes = reconcile(people.everyone(tx.connection), wanted, accept=accept)
        now = store.clock.now()
        people.apply(tx, store.recorder, changes, now)
        for change in changes:
            if change.kind == "deactivated":
                Schedules(store.recorder).of_nobody_any_more(tx, change.person.id, SYSTEM, now)

    await store.database.write(unit)
