"""The task that makes a backup every night. It queues itself again, whatever became of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.audit.events import Actor, BackupFailed, Record
from bot.backup.making import Maker
from bot.kernel.errors import PermanentError, TransientError
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

log = logging.getLogger(__name__)

KIND = "backup.nightly"
ACTOR = Actor("system", "backup")
TRIES = 4
"""Of one night; the worker gives a task up after the fifth."""


class Nightly:
    def __init__(self, maker: Maker, at: str, zone: str, *, enabled: bool) -> None:
        """`at`: local time of the zone, like `02:30`."""
        self._maker = maker
        self._at = at
        self._zone = zone
        self._enabled = enabled

    def handlers(self) -> Mapping[str, Handler]:
        return {KIND: self._handle}

    def start(self, tx: Tx) -> None:
        """At every start: the next one waits, unless it does already."""
        if self._enabled:
            self._queue(tx)

    def following(self) -> datetime | None:
        """When the next one is made."""
        return following(self._maker.clock.now(), self._at, self._zone) if self._enabled else None

    async def _handle(self, task: Task) -> Done:
        if not self._enabled:
            return Done(empty=True)
        try:
            await self._maker.make(ACTOR, "nightly")
        except (TransientError, PermanentError) as error:
            if isinstance(error, TransientError) and task.attempts < TRIES:
                raise
            message = error.message
            log.error("no backup was made this night: %s", message)  # noqa: TRY400 - said in words

            def failed(tx: Tx) -> None:
                self._maker.recorder.record(tx, Record(BackupFailed(task.attempts), ACTOR, text=message))
                self._queue(tx)

            return Done(failed)
        return Done(self._queue)

    def _queue(self, tx: Tx) -> None:
        now = self._maker.clock.now()
        tasks.enqueue(tx, KIND, KIND, {}, now, lane=KIND, run_at=following(now, self._at, self._zone))


def following(now: datetime, at: str, zone: str) -> datetime:
    """The next time that it is `at` (HH:MM) in the zone. Pure."""
    hour, minute = map(int, at.split(":"))
    local = now.astimezone(ZoneInfo(zone))
    then = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    while then.timestamp() <= now.timestamp():
        then += timedelta(days=1)
    return then.astimezone(now.tzinfo)
