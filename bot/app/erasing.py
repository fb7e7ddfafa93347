"""The rooms' erasers, gathered, and what is done after them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.app.knowledge import blob_is_used
from bot.app.opening import Store
from bot.app.settings import derived_key
from bot.audit import erasing as of_audit
from bot.audit.recorder import Recorder
from bot.company import erasing as of_company
from bot.erasure.copies import Copies, no_copies
from bot.erasure.memories import Forgetting
from bot.erasure.people import PersonErasure
from bot.erasure.service import Eraser, Erasure
from bot.erasure.work import NOTHING_BEYOND, Beyond, Tell, Work
from bot.files.blobs import BlobFolder
from bot.gateway.channel import Channel, KeepsCopies
from bot.gateway.operations import OutboundOp, Reply
from bot.intake import erasing as of_intake
from bot.kernel.clock import Clock
from bot.kernel.erasing import Erased
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, BootId, DocumentId, OutboxId, PersonId
from bot.knowledge import store as documents
from bot.knowledge.tasks import Queue
from bot.ledger import erasing as of_ledger
from bot.memory import erasing as of_memory
from bot.orchestrator import erasing as of_orchestrator
from bot.outbox import erasing as of_outbox
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.outbox.store import Origin
from bot.outbox.tables import Policy
from bot.outbox.tables import outbox as outbox_table
from bot.people import erasing as of_roster
from bot.people import store as people
from bot.people.model import Person
from bot.scheduler import erasing as of_scheduler
from bot.sessions import erasing as of_sessions
from bot.storage.database import Tx
from bot.tasks import erasing as of_tasks
from config.schema import Settings

log = logging.getLogger(__name__)

REDACTORS = (
    of_sessions.redact, of_orchestrator.redact, of_intake.redact, of_outbox.redact, of_tasks.redact, of_memory.redact,
    of_company.redact, of_ledger.redact, of_scheduler.redact, of_audit.redact,
)  # fmt: skip
"""That of the transcript first: it says in which turns the words were said."""


def erasers(recorder: Recorder) -> tuple[Eraser, ...]:
    """References before what they refer to; the audit last."""
    own = of_memory.eraser(recorder)
    return (
        of_orchestrator.erase, own, of_sessions.erase, of_memory.unindexed, of_intake.erase, of_outbox.erase,
        of_audit.erase,
    )  # fmt: skip


def erasure(store: Store, ring: Callable[[], None]) -> Erasure:
    """`ring` wakes the runner of tasks; where none runs, the rest waits for the next start."""
    return Erasure(store.database, store.recorder, store.clock, erasers(store.recorder), Queue(ring), ring)


def forgetting(store: Store, ring: Callable[[], None], copies: Copies = no_copies) -> Forgetting:
    """Forgetting memories: what people's rights over them end in."""
    key = tombstone_key(store.audit_key)
    return Forgetting(store.database, store.recorder, store.clock, key, REDACTORS, ring, copies)


def of_people(store: Store, ring: Callable[[], None], copies: Copies = no_copies) -> PersonErasure:
    """Erasing what is held of somebody who has left. The roster is the last room: the others look up their accounts."""

    def of_the_audit(tx: Tx, person: Person, now: datetime) -> Erased:
        return of_audit.of_person(tx, person.id, now)

    rooms = (
        of_intake.of_person, of_outbox.of_person, of_scheduler.of_owner(store.recorder), of_sessions.of_person,
        of_the_audit, of_roster.of_person,
    )  # fmt: skip
    return PersonErasure(
        store.database, store.recorder, store.clock, erasure(store, ring), forgetting(store, ring, copies), rooms, ring
    )


def tombstone_key(audit_key: bytes) -> bytes:
    """By which what was forgotten is known again. It comes with the chain's key, which is not in the database."""
    return derived_key(audit_key, "tombstones")


def work(
    store: Store, settings: Settings, own: Erasure, channels: Mapping[str, Channel], beyond: Beyond = NOTHING_BEYOND
) -> Work:
    async def remove_copies(channel: str, keys: Sequence[OutboxId]) -> None:
        known: object = channels.get(channel)
        if isinstance(known, KeepsCopies):
            await known.remove_copies(keys)

    retention = settings.retention
    kept_for = {name: getattr(retention, name) for name in type(settings.channels).model_fields}
    return Work(
        store.database,
        store.recorder,
        store.clock,
        BlobFolder(settings.data_dir / "blobs"),
        own,
        is_used,
        remove_copies,
        of_orchestrator.drop_prompts,
        {name: duration for name, duration in kept_for.items() if duration is not None},
        retention.prompts,
        settings.company.time_zone,
        beyond,
    )


def teller(store: Store, outbox: Outbox, channels: Mapping[str, Channel]) -> Tell:
    """Says something to a person alone, on the first of their accounts on which that works."""

    async def tell(person: PersonId, about: str, text: str) -> Callable[[Tx], None]:
        known = await store.database.read(lambda c: people.get(c, person))
        handles = sorted(known.handles, key=lambda one: (one.channel, one.address)) if known and known.active else []
        for each in handles:
            channel = channels.get(each.channel)
            if channel is None:
                continue
            try:
                path = await channel.direct(each.address)
            except (PermanentError, TransientError) as error:
                log.info("%s cannot be reached on %s: %s", person, each.channel, error.message)
                continue
            titled = path if path.subject is None else replace(path, subject=about)
            return _queued(each.channel, await outbox.plan(each.channel, Reply(titled, text)), store.clock)
        return lambda _: None

    return tell


def _queued(channel: str, ops: Sequence[OutboundOp], clock: Clock) -> Callable[[Tx], None]:
    """The outbox finds it when it looks the next time: nobody waits for a receipt."""

    def unit(tx: Tx) -> None:
        origin, policy = Origin(None, None, None), Policy.RESEND_ONCE
        outbox_store.insert(tx, channel, ops, origin, policy, BootId(""), clock.now(), may_leave=False)

    return unit


def is_used(connection: sa.Connection, blob: BlobHash) -> bool:
    """Whether any room refers to a file."""
    said = sa.select(sa.exists().where(outbox_table.c.op.like(f'%"{blob}"%')))
    return (
        blob_is_used(connection, blob)
        or documents.uses_blob(connection, blob, DocumentId(""))
        or bool(connection.execute(said).scalar())
    )
