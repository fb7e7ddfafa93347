"""The durable rest of an erasure, and retention. Every step may be repeated: a process that dies anywhere in it leaves
a task that the next one does again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bot.audit.events import Actor, ErasureDone, Record
from bot.audit.recorder import Recorder
from bot.erasure import journal, receipt
from bot.erasure.copies import Copies, no_copies
from bot.erasure.service import FINISH, Erasure
from bot.files.blobs import BlobFolder
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.ids import BlobHash, OutboxId, PersonId, SessionId
from bot.kernel.values import dataclass
from bot.retrieval import fulltext
from bot.sessions.erasing import older_than
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

log = logging.getLogger(__name__)

RETENTION = "erasure.retention"
NIGHT = 3
"""Hour of the company's night at which retention is looked after."""
AT_ONCE = 50
"""Sessions of one transaction."""
ACTOR = Actor("system", "erasure")

BlobIsUsed = Callable[[sa.Connection, BlobHash], bool]
RemoveCopies = Callable[[str, Sequence[OutboxId]], Awaitable[None]]
"""Removes this machine's own copies of what a channel sent under these keys."""
DropPrompts = Callable[[Tx, datetime], int]
Purge = Callable[[], Awaitable[object]]
"""Has an index lose what it was derived from, down to the disk."""
Tell = Callable[[PersonId, str, str], Awaitable[Callable[[Tx], None]]]
"""Says to a person alone, what it is about (the subject, where there is one) and a text: what it returns queues it, in
the transaction that ends the work."""


async def nobody_is_told(person: PersonId, about: str, text: str) -> Callable[[Tx], None]:
    return lambda _: None


@dataclass(frozen=True, slots=True)
class Beyond:
    """What lies beyond the store."""

    purges: Sequence[Purge] = ()
    copies: Copies = no_copies
    journal: Path | None = None
    """The file beside the backups that says what was erased; None: backups are not made."""
    tell: Tell = field(default=nobody_is_told)


NOTHING_BEYOND = Beyond()


class Work:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        blobs: BlobFolder,
        erasure: Erasure,
        blob_is_used: BlobIsUsed,
        remove_copies: RemoveCopies,
        drop_prompts: DropPrompts,
        kept_for: Mapping[str, timedelta],
        prompts_for: timedelta,
        zone: str,
        beyond: Beyond,
    ) -> None:
        """`kept_for`: how long messages are kept, by channel; channels that are left out keep them. `zone`: the
        company's."""
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._blobs = blobs
        self._erasure = erasure
        self._blob_is_used = blob_is_used
        self._remove_copies = remove_copies
        self._drop_prompts = drop_prompts
        self._kept_for = kept_for
        self._prompts_for = prompts_for
        self._zone = zone
        self._beyond = beyond

    def handlers(self) -> Mapping[str, Handler]:
        return {FINISH: self._finish, RETENTION: self._retain}

    def start(self, tx: Tx) -> None:
        """At every start: the night's work waits, unless it does already."""
        self._queue_night(tx)

    async def _finish(self, task: Task) -> Done:
        payload = task.payload
        for channel, keys in _by_channel(payload["sent"]).items():
            await self._remove_copies(channel, keys)
        removed = 0
        for each in payload["blobs"]:
            removed += await self._drop(BlobHash(each))
        await self._rewrite_derived(payload["why"])
        whole = await self._database.rewrite()
        if not await self._database.maintain():
            raise TransientError("a reader keeps a part of the write-ahead log; it is cut later")
        if self._beyond.journal is not None:
            await journal.write_out(self._database, self._beyond.journal)
        copies = [] if payload["why"] == "summary" else self._beyond.copies()
        ends = [each.until for each in copies]
        until = max((each for each in ends if each is not None), default=None) if None not in ends else None
        counts: Mapping[str, int] = payload["counts"]
        session = SessionId(payload["session"]) if payload["session"] else None
        done = ErasureDone(
            payload["why"],
            counts.get("messages", 0),
            counts.get("events", 0),
            counts.get("replies", 0),
            counts.get("prompts", 0),
            counts.get("summaries", 0),
            counts.get("audit_texts", 0),
            counts.get("documents", 0),
            removed,
            whole,
            counts.get("memories", 0),
            len(copies),
            until.date().isoformat() if until else None,
        )
        say: Callable[[Tx], None] | None = None
        if asked_by := payload.get("asked_by"):
            text = receipt.told(done, len(payload.get("there", ())), task.id)
            say = await self._beyond.tell(PersonId(asked_by), "What was forgotten", text)

        def ended(tx: Tx) -> None:
            self._recorder.record(tx, Record(done, ACTOR, session))
            if say is not None:
                say(tx)

        return Done(ended)

    async def _rewrite_derived(self, why: str) -> None:
        """Have deleted words leave the indexes of full text and the vectors' folders. A summary is in neither."""
        if why == "summary":
            return
        for purge in self._beyond.purges:
            await purge()
        for index in await self._database.read(fulltext.all_of, long=True):
            more = await self._database.write(lambda tx, of=index: of.merge_step(tx.connection, first=True))  # type: ignore[misc]
            while more:
                more = await self._database.write(lambda tx, of=index: of.merge_step(tx.connection, first=False))  # type: ignore[misc]

    async def _drop(self, blob: BlobHash) -> bool:
        """Delete a file unless something else refers to it."""
        if await self._database.read(lambda c: self._blob_is_used(c, blob), long=True):
            return False
        return await self._blobs.delete(blob)

    async def _retain(self, task: Task) -> Done:
        now = self._clock.now()
        rows = 0
        for channel, kept_for in self._kept_for.items():
            before = now - kept_for
            while sessions := await self._database.read(self._old(channel, before), long=True):
                rows += await self._erasure.older(sessions, before, ACTOR)
        too_old = now - self._prompts_for
        rows += await self._database.write(lambda tx: self._drop_prompts(tx, too_old))
        return Done(self._queue_night, empty=not rows)

    @staticmethod
    def _old(channel: str, before: datetime) -> Callable[[sa.Connection], list[SessionId]]:
        return lambda connection: older_than(connection, channel, before, AT_ONCE)

    def _queue_night(self, tx: Tx) -> None:
        now = self._clock.now()
        tasks.enqueue(tx, RETENTION, RETENTION, {}, now, lane=RETENTION, run_at=next_night(now, self._zone))


def next_night(now: datetime, zone: str) -> datetime:
    """The next time that it is `NIGHT` o'clock in the zone."""
    local = now.astimezone(ZoneInfo(zone))
    night = local.replace(hour=NIGHT, minute=0, second=0, microsecond=0)
    while night <= local:
        night += timedelta(days=1)
    return night.astimezone(now.tzinfo)


def _by_channel(sent: Sequence[Sequence[str]]) -> dict[str, list[OutboxId]]:
    found: dict[str, list[OutboxId]] = {}
    for channel, key in sent:
        found.setdefault(channel, []).append(OutboxId(key))
    return found
