"""Claims and evidence as tests need them, written through the store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId, EvidenceId, MessageId, PersonId, SessionId, new_id
from bot.memory import store
from bot.memory.model import Author, Claim, Evidence, Kind, Source, Status, Support, Trust, Visibility, Work
from bot.storage.database import Database, Tx

MODEL = Actor("model", "test/1")
MARTA = Actor("person", "marta")


def evidence(quote: str, now: datetime, *, message: str = "m1", speaker: str = "marta", start: int = 0) -> Evidence:
    return Evidence(
        EvidenceId(new_id(now)),
        MessageId(message),
        start,
        start + len(quote),
        quote,
        hashlib.sha256(quote.encode()).hexdigest(),
        speaker,
        Trust.PROVEN,
        now,
    )


def claim(now: datetime, **values: Any) -> Claim:
    """A decision of Marta's that stands in session s1."""
    kind = values.get("kind", Kind.DECISION)
    defaults: dict[str, Any] = {
        "id": ClaimId(new_id(now)),
        "kind": kind,
        "statement": "We launch in March.",
        "rationale": None,
        "outcome": None,
        "domain": None,
        "department": None,
        "subject": "launch/date",
        "speaker": "marta",
        "session": SessionId("s1"),
        "turn": None,
        "history_epoch": 0,
        "audience_epoch": 0,
        "visibility": Visibility.SESSION,
        "status": Status.ACTIVE,
        "held": (),
        "source": Source.FRESH,
        "support": Support.QUOTE,
        "trust": Trust.PROVEN,
        "confidence": 0.9,
        "work": Work.PROPOSED if kind is Kind.INITIATIVE else None,
        "owner": None,
        "due": None,
        "said_at": now,
        "heard_at": now,
        "valid_from": None,
        "valid_to": None,
        "recorded_at": now,
        "retired_at": None,
        "touched_at": now,
        "replaced_by": None,
        "author": Author("extractor", "test/1"),
        "by_person": False,
        "promotion_by": None,
        "version": 1,
    }
    return Claim(**(defaults | values))


async def written(
    database: Database, recorder: Recorder, new: Claim, rests_on: Sequence[Evidence] | None = None
) -> Claim:
    words = [evidence(new.statement, new.said_at, speaker=new.speaker)] if rests_on is None else rests_on

    def unit(tx: Tx) -> None:
        store.add(tx, recorder, new, words, MODEL)

    await database.write(unit)
    return new


OWNER = PersonId("marta")
