"""Forgetting memories: the claims, the words they were made of, and whatever tells the same.

What would go is found first, by reading (`preview`), and is changed in one transaction (`memories_in`). Which sentences
tell a memory is said by `words`; each room says what it holds of them (`redact`). What is left of the words in files is
`work`'s, as after every erasure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_memory import MemoryForgotten
from bot.audit.recorder import Recorder
from bot.erasure.copies import Copies, sent_there
from bot.erasure.service import FINISH, LANE
from bot.erasure.words import Phrases, sentences
from bot.kernel.clock import Clock
from bot.kernel.erasing import Erased, Words, without
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, MessageId, OutboxId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.memory import store, tombstones
from bot.memory.erasing import follow, note, texts_of_events, unindex
from bot.memory.model import Claim, Evidence, Visibility
from bot.memory.service import Going
from bot.memory.tables import claim as claim_table
from bot.memory.tables import claim_shown
from bot.sessions import transcript, turns
from bot.sessions.tables import turn
from bot.storage.database import Database, Tx
from bot.storage.redaction import Redaction, Redactor
from bot.tasks import store as tasks

WHY = "memory"


@dataclass(frozen=True, slots=True)
class Vanishing:
    """What goes with some memories."""

    claims: tuple[Claim, ...]
    """Those that were named, and others in whose words theirs stand."""
    quotes: tuple[tuple[MessageId, str], ...]
    """The words that they rest on, and where they stand."""
    shown: int
    """Turns in which one of them stood before the model."""
    redaction: Redaction
    there: tuple[OutboxId, ...]
    """Messages of the executive that tell them and still stand on a platform that could delete them."""

    @property
    def counts(self) -> Mapping[str, int]:
        found = dict(self.redaction.erased.counts)
        found |= {"memories": len(self.claims), "shown": self.shown, "on_platforms": len(self.there)}
        return found


@dataclass(frozen=True, slots=True)
class Forgetting:
    database: Database
    recorder: Recorder
    clock: Clock
    key: bytes
    """Of the tombstones."""
    redactors: Sequence[Redactor]
    """That of the transcript is the first one: in which turns the words were said tells the others where to look."""
    ring: Callable[[], None]
    """Wakes whoever runs tasks, after the commit."""
    copies: Copies
    """Which backups there are."""

    def preview(
        self, connection: sa.Connection, claims: Sequence[ClaimId], *, chain: bool = False
    ) -> Mapping[str, int]:
        """How many of what would vanish, by name. `backups`: which go on holding it for a while."""
        found = self.vanishing(connection, claims, chain=chain)
        return {**found.counts, "backups": len(self.copies())}

    def look(self, connection: sa.Connection, claims: Sequence[ClaimId]) -> Going:
        """`preview`, and what exactly."""
        found, copies = self.vanishing(connection, claims), self.copies()
        ends = [each.until for each in copies]
        until = max((each for each in ends if each is not None), default=None)
        return Going(
            {**found.counts, "backups": len(copies)},
            tuple(each.id for each in found.claims),
            dict(found.redaction.messages),
            None if None in ends else until,
        )

    def vanishing(
        self, connection: sa.Connection, claims: Sequence[ClaimId], *, chain: bool = False, now: datetime | None = None
    ) -> Vanishing:
        """`chain`: also what a claim has superseded and what supersedes it. Raises `PermanentError` for an unknown or
        erased one."""
        named = [self._known(connection, each) for each in dict.fromkeys(claims)]
        if chain:
            named = _chain(connection, named)
        rests = {each.id: store.evidence_of(connection, each.id) for each in named}
        along, kept = _others(connection, named, rests)
        gone = [*named, *along]
        rests |= {each.id: store.evidence_of(connection, each.id) for each in along}
        words = _words(connection, gone, rests, kept)
        found = self._redaction(connection, words, now or self.clock.now())
        quotes = tuple((each.message, each.quote) for of in gone for each in rests[of.id])
        there = tuple(each.id for each in sent_there(connection, [key for _, key in found.erased.sent]))
        return Vanishing(tuple(gone), quotes, _times_shown(connection, words.claims), found, there)

    def memories_in(
        self,
        tx: Tx,
        claims: Sequence[ClaimId],
        actor: Actor,
        reason: str,
        now: datetime,
        *,
        chain: bool = False,
    ) -> Mapping[str, int]:
        """Forget, in the caller's transaction, who calls `ring` after it. Returns like `preview`. From the commit on no
        reader finds the words; that their bytes leave the files is durable work, and its end has a receipt."""
        found = self.vanishing(tx.connection, claims, chain=chain, now=now)
        ids = tuple(each.id for each in found.claims)
        for each in found.claims:
            quotes = [one.quote for one in store.evidence_of(tx.connection, each.id)]
            for space in tombstones.spaces_of(each):
                tombstones.put(tx, self.key, space, each.statement, quotes, each.subject, now)
        follow(tx, self.recorder, dict(found.redaction.messages), ids, now)
        for each in found.claims:
            store.erase(tx, self.recorder, each, actor, now)
        for statement in found.redaction.statements:
            tx.execute(statement)
        unindex(tx)
        note(tx, "claim", ids, now)
        note(tx, "message", [message for message, _ in found.redaction.messages], now)
        told = _reason(reason, found)
        payload = MemoryForgotten(ids, sum(dict(found.redaction.erased.counts).values()))
        self.recorder.record(tx, Record(payload, actor, found.claims[0].session, text=told))
        self._finish(tx, found, actor, now)
        return {**found.counts, "backups": len(self.copies())}

    async def memories(
        self, claims: Sequence[ClaimId], actor: Actor, reason: str, *, chain: bool = False
    ) -> Mapping[str, int]:
        """`memories_in` in a transaction of its own."""
        counts = await self.database.write(
            lambda tx: self.memories_in(tx, claims, actor, reason, self.clock.now(), chain=chain)
        )
        self.ring()
        return counts

    def message_in(self, tx: Tx, message: MessageId, now: datetime) -> None:
        """Have all of a message go, and what repeats it. After a restore; see `replay`."""
        self.messages_in(tx, [message], now)

    def messages_in(self, tx: Tx, messages: Sequence[MessageId], now: datetime) -> Erased:
        """Have all of some messages of one conversation go, with their files, and what repeats a sentence of them as it
        was written. Returns what of it is left in files: whoever asks has that rewritten."""
        said = list(transcript.by_ids(tx.connection, messages).values())
        sessions = {turns.session_of(tx.connection, each.turn) for each in said}
        texts = [each.body.text for each in said]
        told = [text[start:end] for text in texts for start, end in sentences(text)]
        phrases = Phrases([], [*texts, *told])
        words = Words(
            phrases.may_tell,
            phrases.tells,
            phrases.holds,
            frozenset(),
            frozenset(each for each in sessions if each is not None),
            {},
            everywhere=False,
            turns=frozenset(each.turn for each in said),
            quotes={each.id: (each.body.text,) for each in said if each.body.text},
            files=frozenset(file.blob for each in said for file in each.files if file.blob is not None),
        )
        found = self._redaction(tx.connection, words, now)
        follow(tx, self.recorder, dict(found.messages), (), now)
        for statement in found.statements:
            tx.execute(statement)
        unindex(tx)
        note(tx, "message", [each for each, _ in found.messages], now)
        return found.erased

    def _redaction(self, connection: sa.Connection, words: Words, now: datetime) -> Redaction:
        found = Redaction()
        for number, redactor in enumerate(self.redactors):
            found += redactor(connection, words, now)
            if number == 0:
                first = min((*found.turns, *words.turns), default=None)
                files = words.files | found.erased.blobs
                words = replace(words, turns=words.turns | found.turns, first=first, files=files)
        return found

    def _finish(self, tx: Tx, found: Vanishing, actor: Actor, now: datetime) -> None:
        erased = found.redaction.erased
        payload = {
            "why": WHY,
            "session": found.claims[0].session,
            "counts": dict(found.counts),
            "blobs": sorted(erased.blobs),
            "sent": [list(each) for each in erased.sent],
            "asked_by": actor.id if actor.kind == "person" else None,
            "there": list(found.there),
        }
        tasks.enqueue(tx, FINISH, f"{WHY}:{found.claims[0].id}:{now.isoformat()}", payload, now, lane=LANE)

    @staticmethod
    def _known(connection: sa.Connection, claim: ClaimId) -> Claim:
        found = store.get(connection, claim)
        if found is None:
            raise PermanentError(f"there is no memory {claim}")
        return found


def _chain(connection: sa.Connection, claims: Sequence[Claim]) -> list[Claim]:
    """With what these have superseded, and what has superseded them, however far."""
    found = {each.id: each for each in claims}
    waiting = list(claims)
    while waiting:
        one = waiting.pop()
        linked = [ClaimId(row) for row in _replaced_by(connection, one.id)] + (
            [one.replaced_by] if one.replaced_by else []
        )
        for each in linked:
            other = store.get(connection, each)
            if other is not None and other.id not in found:
                found[other.id] = other
                waiting.append(other)
    return list(found.values())


def _replaced_by(connection: sa.Connection, claim: ClaimId) -> Sequence[str]:
    return connection.execute(sa.select(claim_table.c.id).where(claim_table.c.replaced_by == claim)).scalars().all()


def _others(
    connection: sa.Connection, named: Sequence[Claim], rests: Mapping[ClaimId, Sequence[Evidence]]
) -> tuple[list[Claim], list[str]]:
    """Claims of the same sessions in whose words those of the named ones stand: they go along. And what the rest of
    them says and rests on, which stays."""
    quotes = Phrases([], [*(each.statement for each in named), *(e.quote for of in named for e in rests[of.id])])
    ids = {each.id for each in named}
    along, kept = [], []
    for session in sorted({each.session for each in named}):
        for other in store.of_session(connection, session):
            if other.id in ids:
                continue
            words = [other.statement, *(each.quote for each in store.evidence_of(connection, other.id))]
            if any(map(quotes.holds, [*words, *filter(None, (other.rationale, other.outcome))])):
                along.append(other)
            else:
                kept += words
    return along, kept


def _words(
    connection: sa.Connection,
    gone: Sequence[Claim],
    rests: Mapping[ClaimId, Sequence[Evidence]],
    kept: Sequence[str],
) -> Words:
    quotes: dict[MessageId, tuple[str, ...]] = {}
    for each in (one for of in gone for one in rests[of.id]):
        quotes[each.message] = (*quotes.get(each.message, ()), each.quote)
    same = [*(each.statement for each in gone), *(quote for many in quotes.values() for quote in many)]
    earlier = [text for each in gone for text in texts_of_events(connection, each.id)]
    written = [text for each in gone for text in (each.rationale, each.outcome) if text] + earlier
    phrases = Phrases(same, written, kept)
    ids = frozenset(each.id for each in gone)
    own = frozenset(each.session for each in gone)
    company = [each.id for each in gone if each.visibility is Visibility.COMPANY]
    shown = _shown_elsewhere(connection, ids, own)
    return Words(
        phrases.may_tell,
        phrases.tells,
        phrases.holds,
        ids,
        own,
        shown,
        bool(company),
        frozenset(_turns(connection, ids)) | {each.turn for each in gone if each.turn is not None},
        quotes,
        names=frozenset(each.handle for each in gone),
    )


def _turns(connection: sa.Connection, claims: Collection[ClaimId]) -> list[TurnId]:
    rows = connection.execute(
        sa.select(claim_shown.c.turn_id).where(claim_shown.c.claim_id.in_(sorted(claims))).distinct()
    )
    return [TurnId(each) for each in rows.scalars()]


def _times_shown(connection: sa.Connection, claims: Collection[ClaimId]) -> int:
    return len(_turns(connection, claims))


def _shown_elsewhere(
    connection: sa.Connection, claims: Collection[ClaimId], own: Collection[SessionId]
) -> dict[SessionId, TurnId]:
    """Other sessions in which one of them stood before the model, and since which turn."""
    rows = connection.execute(
        sa.select(turn.c.session_id, sa.func.min(turn.c.id).label("first"))
        .select_from(claim_shown.join(turn, turn.c.id == claim_shown.c.turn_id))
        .where(claim_shown.c.claim_id.in_(sorted(claims)), turn.c.session_id.not_in(sorted(own)))
        .group_by(turn.c.session_id)
    )
    return {SessionId(row.session_id): TurnId(row.first) for row in rows}


def _reason(reason: str, found: Vanishing) -> str:
    """A reason must not tell what was forgotten."""
    phrases = Phrases([each.statement for each in found.claims] + [quote for _, quote in found.quotes])
    return without(reason, phrases.tells(reason))
