"""The way back from a backup: into an empty folder, whole, checked, and held for a look."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from bot.app.erasing import erasure, forgetting, of_people
from bot.app.opening import Store, open_store
from bot.audit.events import Actor, BackupRestored, Record
from bot.audit.recorder import Head
from bot.audit.verify import verify
from bot.backup import restoring
from bot.backup.archive import Manifest
from bot.backup.sealed import DamagedBackupError
from bot.erasure import journal
from bot.erasure.journal import Entry
from bot.erasure.replay import Replayed, replay
from bot.intake import held as held_in
from bot.kernel.clock import Clock
from bot.kernel.logs import Redactor
from bot.kernel.values import dataclass
from bot.ledger import erasing as proposals
from bot.outbox import held as held_out
from bot.people import browsers, tokens
from bot.people import store as people
from bot.scheduler import store as scheduler
from bot.scheduler.model import JobState
from bot.scheduler.tables import job
from bot.storage.database import Tx
from config.schema import Settings

ACTOR = Actor("system", "restore")
RESTORED = "a backup was restored: what was due since may have been done already"


@dataclass(frozen=True, slots=True)
class Restored:
    manifest: Manifest
    replayed: Replayed
    held_out: int
    held_in: int


async def restore(
    settings: Settings, redactor: Redactor, clock: Clock, backup: Path, into: Path, erasures: Path | None
) -> Restored:
    """Put a backup into an empty folder: whole, checked, without what was erased since, and with everything held that
    waited to be sent or answered; or leave the folder as it was. `erasures`: the journal to go by; None: there is none.
    Raises `PermanentError`."""
    told = [] if erasures is None else await asyncio.to_thread(journal.read, erasures)
    passphrase = settings.backup.passphrase
    staging, manifest = await asyncio.to_thread(
        restoring.unpack, backup, lambda: passphrase.get_secret_value() if passphrase else None, into
    )
    inside = settings.model_copy(update={"data_dir": staging})
    async with open_store(inside, redactor, clock) as store:
        await _must_be_sound(store, manifest)
        done = await _made_ready(store, manifest, told, journal=erasures is not None)
        await store.database.rewrite()
        await store.database.maintain()
    await asyncio.to_thread(restoring.put_in_place, staging, into)
    return done


async def _must_be_sound(store: Store, manifest: Manifest) -> None:
    expected = Head(manifest.audit_id, manifest.audit_hash)
    verdict = await store.database.read(lambda c: verify(c, store.audit_key, expected), long=True)
    if verdict.broken:
        raise DamagedBackupError(f"the audit of the backup does not hold: {verdict.broken[0]}")


async def _made_ready(store: Store, manifest: Manifest, told: Sequence[Entry], *, journal: bool) -> Restored:
    """Erase again, then hold."""
    replayed = await replay(
        erasure(store, _nobody_rings), forgetting(store, _nobody_rings), of_people(store, _nobody_rings), told
    )

    def unit(tx: Tx) -> Restored:
        now = store.clock.now()
        out = held_out.hold(tx, store.recorder, now)
        proposals.hold(tx, store.recorder, now)
        # One may have been revoked since the backup was made: who needs one makes it anew.
        for token in tokens.listed(tx.connection):
            tokens.revoke(tx, store.recorder, token.id, ACTOR, now)
        # Nor does a browser that was signed out since, or a link that was used, let anybody in again.
        for person in people.everyone(tx.connection):
            browsers.drop_links(tx, person.id)
            browsers.end(tx, store.recorder, person.id, None, ACTOR, now)
        if tx.execute(sa.select(sa.exists().where(job.c.state == JobState.ACTIVE.value))).scalar():
            scheduler.stop_firing(tx, store.recorder, ACTOR, RESTORED, now)
        waiting = held_in.hold(tx, now)
        payload = BackupRestored(
            manifest.audit_id,
            replayed.memories,
            replayed.messages,
            replayed.sessions,
            replayed.documents,
            out,
            waiting,
            journal,
        )
        store.recorder.record(tx, Record(payload, ACTOR))
        return Restored(manifest, replayed, out, waiting)

    return await store.database.write(unit)


def _nobody_rings() -> None: ...
