"""Nightly work on memories, each a durable task that queues itself again: what says the same is put together, and the
words that claims rest on are compared with the messages they stand in.

Nothing here reads meaning or writes new words. What a person put into words is kept as it is; a merge stays within one
session and audience epoch (or within the company), stands in the history of both claims, and can be undone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.ids import ClaimId, EvidenceId, new_id
from bot.kernel.values import dataclass
from bot.llm.lexical import terms
from bot.memory import sources, store
from bot.memory.model import STANDING, Claim, Kind, Op, Source, Status, Visibility, Work
from bot.memory.normal import normal
from bot.memory.rows import claim_of
from bot.memory.tables import claim, evidence
from bot.sessions.tables import message
from bot.storage.database import Database, Tx
from bot.storage.metadata import among
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

CONSOLIDATE = "memory.consolidate"
PREFLIGHT = "memory.preflight"
ACTOR = Actor("system", "memory")
ALIKE = 0.8
"""Share of their words that two initiatives have in common when they are one."""
AT = time(3, 30)
"""Local time of the company at which it is done."""
SAME = "it says the same as another memory"
PAGE = 500


@dataclass(frozen=True, slots=True)
class Merge:
    kept: Claim
    gone: Claim


class Upkeep:
    def __init__(self, database: Database, recorder: Recorder, clock: Clock, zone: str) -> None:
        """`zone`: the company's."""
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._zone = zone

    def handlers(self) -> Mapping[str, Handler]:
        return {CONSOLIDATE: self.consolidate, PREFLIGHT: self.preflight}

    def start(self, tx: Tx) -> None:
        """Queue what is due each night, unless it is queued."""
        for kind in (CONSOLIDATE, PREFLIGHT):
            self._again(tx, kind)

    async def consolidate(self, task: Task) -> Done:
        standing = await self._database.read(_standing, long=True)
        found = [merge for place in _places(standing) for merge in merges(place)]

        def unit(tx: Tx) -> None:
            for each in found:
                self._merge(tx, each)
            self._again(tx, CONSOLIDATE)

        return Done(unit, empty=not found)

    async def preflight(self, task: Task) -> Done:
        stale = await self._database.read(_stale, long=True)

        def unit(tx: Tx) -> None:
            now = self._clock.now()
            for each in stale:
                seen = store.get(tx.connection, each)
                if seen is not None and seen.source is Source.FRESH:
                    sources.mark(tx, self._recorder, seen, Source.EDITED, now)
            self._again(tx, PREFLIGHT)

        return Done(unit, empty=not stale)

    def _merge(self, tx: Tx, merge: Merge) -> None:
        kept, gone = (store.get(tx.connection, each.id) for each in (merge.kept, merge.gone))
        if kept is None or gone is None or kept.version != merge.kept.version or gone.version != merge.gone.version:
            return  # changed meanwhile: the next night looks again
        now = self._clock.now()
        store.change(
            tx, self._recorder, gone, Op.MERGED, ACTOR, now, SAME,
            by=kept.id, status=Status.SUPERSEDED, replaced_by=kept.id,
        )  # fmt: skip
        words = [replace(each, id=EvidenceId(new_id(now))) for each in store.evidence_of(tx.connection, gone.id)]
        trust = max((kept.trust, *(each.trust for each in words)), key=lambda each: each.rank)
        told: dict[str, object] = {}
        if kept.kind is Kind.INITIATIVE:
            owner = kept.owner or gone.owner
            name = None if owner is not None else kept.owner_name or gone.owner_name
            told = {"owner": owner, "owner_name": name, "due": kept.due or gone.due}
        store.change(
            tx, self._recorder, kept, Op.CONFIRMED, ACTOR, now, SAME, by=gone.id, rests_on=words, trust=trust, **told
        )

    def _again(self, tx: Tx, kind: str) -> None:
        now = self._clock.now()
        tasks.enqueue(tx, kind, kind, {}, now, lane=kind, run_at=next_time(now, self._zone))


def next_time(now: datetime, zone: str) -> datetime:
    """The next `AT` in a zone."""
    local = now.astimezone(ZoneInfo(zone))
    found = datetime.combine(local.date(), AT, ZoneInfo(zone))
    if found <= now:
        found = datetime.combine(local.date() + timedelta(days=1), AT, ZoneInfo(zone))
    return found.astimezone(now.tzinfo)


def merges(place: Sequence[Claim]) -> list[Merge]:
    """Which claims of one place are told by another one: pure. A claim occurs in one merge at most."""
    found: list[Merge] = []
    used: set[ClaimId] = set()
    ordered = sorted(place, key=_precedence)
    for number, kept in enumerate(ordered):
        for gone in ordered[number + 1 :]:
            if kept.id not in used and gone.id not in used and one_and_the_same(kept, gone):
                found.append(Merge(kept, gone))
                used |= {kept.id, gone.id}
    return found


def one_and_the_same(kept: Claim, gone: Claim) -> bool:
    """Same words, or of initiatives nearly the same words, the same numbers, and nothing that speaks against it."""
    if kept.kind is not gone.kind or gone.by_person or Status.DISPUTED in (kept.status, gone.status):
        return False
    if kept.kind is not Kind.INITIATIVE:
        return kept.speaker == gone.speaker and normal(kept.statement) == normal(gone.statement)
    for name in ("owner", "owner_name", "due"):
        values = {getattr(kept, name), getattr(gone, name)} - {None}
        if len(values) > 1:
            return False
    if len({kept.work, gone.work} - {Work.PROPOSED}) > 1:
        return False
    return nearly(kept.statement, gone.statement)


def nearly(one: str, other: str) -> bool:
    first, second = set(terms(one)), set(terms(other))
    if {term for term in first ^ second if any(map(str.isdigit, term))}:
        return False
    return bool(first and second) and len(first & second) >= ALIKE * len(first | second)


def _precedence(of: Claim) -> tuple[bool, bool, datetime]:
    """What a person wrote, then what is told most fully, then what was said first is kept."""
    return not of.by_person, of.owner is None or of.due is None, of.said_at


def _places(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Claims that the same readers see: of one session and audience epoch, or of the company."""
    places: defaultdict[object, list[Claim]] = defaultdict(list)
    for each in claims:
        company = each.visibility is Visibility.COMPANY
        places["company" if company else (each.session, each.audience_epoch)].append(each)
    return list(places.values())


def _standing(connection: sa.Connection) -> list[Claim]:
    rows = connection.execute(sa.select(claim).where(among(claim.c.status, STANDING)).order_by(claim.c.seq))
    return [claim_of(row) for row in rows]


def _stale(connection: sa.Connection) -> list[ClaimId]:
    """Fresh claims of which some words no longer stand where they stood."""
    query = (
        sa.select(
            evidence.c.claim_id,
            evidence.c.start,
            evidence.c.end,
            evidence.c.quote,
            evidence.c.digest,
            message.c.text,
            message.c.deleted_at,
        )
        .select_from(
            evidence.join(claim, claim.c.id == evidence.c.claim_id).join(message, message.c.id == evidence.c.message_id)
        )
        .where(claim.c.source == Source.FRESH.value, ~claim.c.by_person, claim.c.status != Status.ERASED.value)
        .order_by(evidence.c.claim_id)
        .execution_options(yield_per=PAGE)
    )
    found: dict[ClaimId, None] = {}
    for row in connection.execute(query):
        whole = hashlib.sha256(row.text.encode()).hexdigest() == row.digest
        if row.deleted_at is not None or not (whole or row.text[row.start : row.end] == row.quote):
            found[ClaimId(row.claim_id)] = None
    return list(found)
