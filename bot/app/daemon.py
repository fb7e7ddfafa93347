"""The daemon's life, from the first start to the last send."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta

from bot.app import building
from bot.app import extraction as rooms_of_extraction
from bot.app.doors import Doors
from bot.app.opening import Store
from bot.app.rooms import VERSION, Rooms
from bot.audit.events import DaemonStarted, DaemonStopped, Record, SettingChanged
from bot.kernel.errors import PermanentError
from bot.kernel.garbage import set_aside
from bot.kernel.notify import notify, watchdog_interval
from bot.kernel.values import dataclass
from bot.storage.database import Tx
from config.effective import Effective
from config.schema import Settings

log = logging.getLogger(__name__)

TASKS_END_WITHIN = timedelta(seconds=5)
"""At a stop; what has not ended then runs again after the next start."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """`live` runs all rooms and opens the doors."""

    rooms: Rooms
    doors: Doors

    @classmethod
    async def build(cls, store: Store, settings: Settings, shown: Sequence[Effective] = ()) -> Daemon:
        """`shown`: the settings in force, as they may be shown."""
        rooms = await building.build(store, settings, shown)
        return cls(rooms, Doors(rooms))

    async def live(self, greet: Callable[[str], None] | None = None) -> int:
        """Until a signal, or the failure of a service; the exit code. `greet` is told a link that opens the console."""
        rooms = self.rooms
        gc.freeze()  # what is here now stays for the life of the daemon: no collection looks at it again
        gc.enable()
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
        await self._recover()
        self.doors.open_control()
        rooms.work.service("outbox", rooms.outbox.run())
        await rooms.orchestrator.start()
        for name, channel in rooms.channels.items():
            rooms.receivers.service(f"channel:{name}", channel.run(rooms.intake.port(name)))
        await asyncio.sleep(0)  # they begin to connect while the web server is being imported
        try:
            self.doors.open_web()
        except PermanentError:
            await self._stop()
            raise
        rooms.work.service("introductions", rooms.introductions.run())
        rooms.work.service("tasks", rooms.tasks.run())
        rooms.ledger.start(rooms.work)
        rooms.scheduling.start(rooms.work)
        await rooms.knowledge.worker.start()
        await rooms.remembering.index.start()
        rooms.work.service("watchdog", self._watchdog())
        rooms.work.service("garbage", set_aside(rooms.store.clock))
        notify(os.environ, "READY=1")
        head = rooms.store.recorder.head
        log.info("started, version %s, boot %s, audit head %d:%s", VERSION, rooms.boot, head.id, head.hash)
        log.info("model: %s; channels: %s; talk to it with `openexecutive chat`", rooms.model.provider, self._named())
        if greet is not None and (link := await self.doors.invitation()) is not None:
            greet(link)
        failure = await self._until(stopping)
        drained = await self._stop()
        return 0 if failure is None and drained else 1 if failure is not None else 0

    def _named(self) -> str:
        """The channels, and where each receives as far as it is known already."""
        rooms = self.rooms
        where = {name: channel.health().where for name, channel in rooms.channels.items()}
        return ", ".join(f"{name} at {place}" if place else name for name, place in where.items()) or "none"

    async def _recover(self) -> None:
        """What an earlier process left: its turns wait to be run again, its sends are in doubt."""
        rooms = self.rooms
        digest = hashlib.sha256(rooms.settings.model_dump_json().encode()).hexdigest()[:16]

        def unit(tx: Tx) -> None:
            voided, doubtful = rooms.orchestrator.recover(tx), rooms.outbox.recover(tx)
            rooms.tasks.recover(tx)
            rooms.upkeep.start(tx)
            rooms.erasing.start(tx)
            rooms.ledger.recover(tx)
            rooms_of_extraction.upkeep(rooms.store, rooms.settings).start(tx)
            rooms.remembering.queue_check(tx)
            rooms.backups.nightly.start(tx)
            rooms.store.recorder.record(tx, Record(DaemonStarted(rooms.boot, VERSION, voided, doubtful)))
            rooms.store.recorder.record(tx, Record(SettingChanged((), digest)))

        await rooms.store.database.write(unit)

    async def _until(self, stopping: asyncio.Event) -> BaseException | None:
        """Wait for a signal or for the failure of a service."""
        rooms = self.rooms
        group = (rooms.receivers, rooms.doors, rooms.work)
        waits = [rooms.work.job("signal", stopping.wait()), *(rooms.work.job("failure", s.failed()) for s in group)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        return next((s.failure for s in group if s.failure is not None), None)

    async def _stop(self) -> bool:
        """Receive nothing new, let turns and sends end, then close. True if all ended by themselves."""
        rooms = self.rooms
        notify(os.environ, "STOPPING=1")
        deadline = rooms.store.clock.monotonic() + rooms.settings.limits.drain.total_seconds()

        def left() -> timedelta:
            return timedelta(seconds=max(0.1, deadline - rooms.store.clock.monotonic()))

        await rooms.receivers.stop()
        drained = await rooms.lanes.drain(left())
        drained = await rooms.outbox.drain(left()) and drained
        await rooms.tasks.drain(min(left(), TASKS_END_WITHIN))
        await rooms.work.stop()
        await rooms.scheduling.stop()
        await rooms.knowledge.index.close()
        await rooms.remembering.index.close()
        await rooms.doors.stop()
        for channel in rooms.channels.values():
            await channel.close()
        await rooms.model.close()

        def unit(tx: Tx) -> None:
            rooms.upkeep.write(tx, rooms.refusals.take())
            rooms.store.recorder.record(tx, Record(DaemonStopped(rooms.boot, drained)))

        await rooms.store.database.write(unit)
        head = rooms.store.recorder.head
        log.info("stopped, drained: %s, audit head %d:%s", drained, head.id, head.hash)
        return drained

    async def _watchdog(self) -> None:
        rooms = self.rooms
        interval = watchdog_interval(os.environ, os.getpid())
        while interval is not None:
            notify(os.environ, "WATCHDOG=1")
            await rooms.store.clock.sleep(interval)
