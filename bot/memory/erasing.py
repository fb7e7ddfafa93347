"""What of memory goes with a session, with what retention takes of it, and because words are forgotten.

With a session its claims go, those that a person wrote too: they belong to it. With what is older than an instant go
the claims whose words were all said before, but not those that a person wrote, corrected or confirmed: these were put
down to be kept. What the company may see was promoted by a person and stays in both cases; the words of the
conversation that it rested on go, and the person stands for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.erasing import Erased, Span, Words
from bot.kernel.ids import ClaimId, MessageId
from bot.memory import store
from bot.memory.model import Claim, Op, Source, Support, Visibility
from bot.memory.tables import claim, claim_event, claim_event_text, erase_journal, evidence, to_index
from bot.retrieval.recall import store as recall
from bot.retrieval.recall.model import Kind
from bot.sessions.tables import message
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

ACTOR = Actor("system", "erasure")
PERSON_STANDS = "the conversation that it rested on was erased"


def eraser(recorder: Recorder) -> Callable[[Tx, Span, datetime], Erased]:
    def erase(tx: Tx, span: Span, now: datetime) -> Erased:
        gone = rested = 0
        for each in store.of_session(tx.connection, span.session):
            if span.before is not None and not _said_before(tx.connection, each, span.before):
                continue
            if each.visibility is Visibility.COMPANY or (span.before is not None and _of_a_person(each)):
                rested += _let_a_person_stand(tx, recorder, each, now)
            else:
                store.erase(tx, recorder, each, ACTOR, now)
                gone += 1
        if span.whole:
            note(tx, "session", [span.session], now)
        return Erased((("memories", gone), ("memories_kept_by_a_person", rested)))

    return erase


def let_persons_stand(tx: Tx, recorder: Recorder, messages: Sequence[MessageId], now: datetime) -> int:
    """What rests on these messages stays without their words: a person stands for it. Returns how many memories."""
    ids = tx.execute(
        sa.select(evidence.c.claim_id).where(evidence.c.message_id.in_(list(messages))).distinct()
    ).scalars()
    found = [store.get(tx.connection, ClaimId(each)) for each in ids.all()]
    return sum(_let_a_person_stand(tx, recorder, each, now) for each in found if each is not None)


def note(tx: Tx, what: str, ids: Sequence[str], now: datetime) -> None:
    """Note what was erased, by id, so that it is erased again after a restore."""
    if ids:
        tx.execute(erase_journal.insert(), [{"what": what, "id": each, "at": now} for each in ids])


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """What events of other claims tell of the words; the claims themselves are erased by who asks."""
    rows = connection.execute(
        sa.select(claim_event_text)
        .select_from(
            claim_event_text.join(claim_event, claim_event.c.seq == claim_event_text.c.event_seq).join(
                claim, claim.c.id == claim_event.c.claim_id
            )
        )
        .where(claim.c.session_id.in_(sorted(words.own)), claim.c.id.not_in(sorted(words.claims)))
    )
    gone = [row.event_seq for row in rows if any(map(words.tells, _texts((row.reason, row.before, row.after))))]
    if not gone:
        return Redaction()
    statement = claim_event_text.delete().where(claim_event_text.c.event_seq.in_(gone))
    return Redaction(Erased((("memory_events", len(gone)),)), (statement,))


def follow(tx: Tx, recorder: Recorder, left: Mapping[MessageId, str], but: Collection[ClaimId], now: datetime) -> None:
    """Messages are about to lose words that other claims do not rest on: where their quotes stand then, and in which
    whole, is noted. `left`: what the messages will be. A claim whose quote loses some of its words gets a mark."""
    rows = tx.execute(
        sa.select(evidence, message.c.text.label("was"))
        .select_from(evidence.join(message, message.c.id == evidence.c.message_id))
        .where(evidence.c.message_id.in_(sorted(left)), evidence.c.claim_id.not_in(sorted(but)))
    ).all()
    for row in rows:
        now_is = left[MessageId(row.message_id)]
        start = now_is.find(row.quote)
        if start < 0:
            _mark_edited(tx, recorder, ClaimId(row.claim_id), now)
        elif row.digest == _digest(row.was):  # else it was changed by its writer, which must go on to show
            tx.execute(
                evidence.update()
                .where(evidence.c.id == row.id)
                .values(start=start, end=start + len(row.quote), digest=_digest(now_is))
            )


def _mark_edited(tx: Tx, recorder: Recorder, claim_id: ClaimId, now: datetime) -> None:
    seen = store.get(tx.connection, claim_id)
    if seen is not None and seen.source is Source.FRESH:
        store.change(tx, recorder, seen, Op.SOURCE_CHANGED, ACTOR, now, None, source=Source.EDITED)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def texts_of_events(connection: sa.Connection, claim_id: ClaimId) -> list[str]:
    """How a claim was put before: every text of its events but the reasons."""
    rows = connection.execute(
        sa.select(claim_event_text.c.before, claim_event_text.c.after)
        .select_from(claim_event_text.join(claim_event, claim_event.c.seq == claim_event_text.c.event_seq))
        .where(claim_event.c.claim_id == claim_id)
    )
    told = ("statement", "rationale", "outcome")
    return [
        text
        for row in rows
        for side in (row.before, row.after)
        for name in told
        if isinstance(text := (side or {}).get(name), str)
    ]


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list() | tuple():
            return [text for each in value for text in _texts(each)]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
        case _:
            return []


def _of_a_person(of: Claim) -> bool:
    return of.by_person or of.author.kind == "person" or of.support is Support.PERSON


def _said_before(connection: sa.Connection, of: Claim, before: datetime) -> bool:
    """Whether all of its words were said before. One that was said again since is kept, its older words with it."""
    newest = connection.execute(
        sa.select(sa.func.max(evidence.c.said_at, type_=evidence.c.said_at.type)).where(evidence.c.claim_id == of.id)
    ).scalar()
    return max(newest or of.said_at, of.recorded_at) < before


def _let_a_person_stand(tx: Tx, recorder: Recorder, of: Claim, now: datetime) -> bool:
    """Keep what it says, without the words of the conversation. False if there were none any more."""
    rests = tx.execute(sa.select(sa.exists().where(evidence.c.claim_id == of.id))).scalar()
    if not rests:
        return False
    store.change(tx, recorder, of, Op.SOURCE_CHANGED, ACTOR, now, PERSON_STANDS, support=Support.PERSON)
    tx.execute(evidence.delete().where(evidence.c.claim_id == of.id))
    of_claim = sa.select(claim_event.c.seq).where(claim_event.c.claim_id == of.id)
    tx.execute(claim_event_text.delete().where(claim_event_text.c.event_seq.in_(of_claim)))
    return True


def unindex(tx: Tx) -> None:
    """Take what was changed or deleted out of the search index, in the transaction that did it: what stands still is
    brought in anew before the next search."""
    waiting = tx.execute(sa.select(to_index)).all()
    for kind in Kind:
        if refs := [row.ref for row in waiting if row.kind == kind.value]:
            recall.remove(tx, kind, refs)


def unindexed(tx: Tx, span: Span, now: datetime) -> Erased:
    """The last of this room's erasers: after claims and messages."""
    unindex(tx)
    return Erased()
