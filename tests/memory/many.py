"""A company's memory of some years, written past the rooms: for measuring what readers take over it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import bot
from bot.kernel.ids import SessionId, new_id
from bot.memory.model import Kind, Status
from bot.memory.tables import claim, claim_event, claim_event_text, claim_shown, evidence
from bot.retrieval import fulltext
from bot.sessions.tables import message, turn
from bot.storage.database import Tx
from tests.memory.desk import Desk

DOMAINS = ("finance", "people", "counsel", "operations", "marketing", "product", "board", "strategy")
DEPARTMENTS = ("sales", "finance", "legal", None)
ROOMS = 40
AT_ONCE = 5_000
EPOCH = datetime.fromisoformat("2020-01-01T00:00:00+00:00")


async def fill(desk: Desk, claims: int, shown: int = 4) -> Sequence[str]:
    """`claims` memories with their messages, events and evidence, each shown in `shown` turns. Half of the rooms are
    Ada's too. Returns the ids, oldest first."""
    chance, words = random.Random(7), _words()
    sessions: list[tuple[SessionId, Sequence[str]]] = []
    for who in ("boss", "ada", "bob"):
        sessions.append((await desk.alone(who), (who,)))
    for number in range(ROOMS):
        readers = ("boss", "ada", "bob") if number % 2 else ("boss", "bob")
        sessions.append((await desk.room(*readers, key=f"test:room{number}"), readers))
    ids = [new_id(EPOCH + timedelta(minutes=number)) for number in range(claims)]
    for at in range(0, claims, AT_ONCE):
        part = ids[at : at + AT_ONCE]
        rows = [
            _one(chance, words, each, at + place, chance.choice(sessions), desk.now) for place, each in enumerate(part)
        ]
        await desk.write(lambda tx, rows=rows: _write(tx, rows, chance, shown))  # type: ignore[misc]
    desk.rooms.clock.advance(timedelta(seconds=claims))
    return ids


def _words() -> list[str]:
    """The words of the built-in notes, each as often as it is there."""
    notes = sorted((Path(bot.__file__).parent / "knowledge" / "corpus").rglob("*.md"))
    return [word for note in notes for word in fulltext.words(note.read_text(encoding="utf-8"))]


def _one(
    chance: random.Random,
    words: Sequence[str],
    of: str,
    number: int,
    where: tuple[SessionId, Sequence[str]],
    now: datetime,
) -> Mapping[str, Any]:
    session, present = where
    kind = chance.choices(list(Kind), (4, 2, 2, 6, 1))[0]
    status = chance.choices(list(Status)[:5], (2, 85, 2, 8, 3))[0]
    at = now + timedelta(seconds=number)
    standing = status in (Status.PENDING, Status.ACTIVE, Status.DISPUTED)
    statement = f"We {' '.join(chance.choices(words, k=chance.randint(8, 20)))} in {number}."
    return {
        "id": of, "kind": kind.value, "statement": statement, "subject": f"thing {number}/plan",
        "rationale": None, "outcome": None, "domain": chance.choice(DOMAINS),
        "department": chance.choice(DEPARTMENTS), "speaker": chance.choice(present), "session_id": session,
        "turn_id": f"t{number}", "history_epoch": 0, "audience_epoch": 0,
        "visibility": "company" if chance.random() < 0.3 and status is not Status.PENDING else "session",
        "status": status.value, "held": ["authority"] if status is Status.PENDING else [], "source": "fresh",
        "support": "quote", "trust": "proven", "confidence": 0.9,
        "work": "active" if kind is Kind.INITIATIVE else None, "owner": None, "due": None, "said_at": at,
        "heard_at": at, "valid_from": None, "valid_to": None, "recorded_at": at,
        "retired_at": None if standing else at + timedelta(days=1), "touched_at": at, "replaced_by": None,
        "author_kind": "extractor", "author": "test/1", "by_person": False, "promotion_by": None, "version": 1,
    }  # fmt: skip


def _write(tx: Tx, rows: Sequence[Mapping[str, Any]], chance: random.Random, shown: int) -> None:
    turns, said, words, events, texts, stood = [], [], [], [], [], []
    first = (tx.execute(sa.select(sa.func.max(claim_event.c.seq))).scalar() or 0) + 1
    for place, row in enumerate(rows):
        text = f"{row['statement']} And something else that was said beside it."
        base = {"history_epoch": 0, "audience_epoch": 0, "session_id": row["session_id"]}
        turns.append(
            base | {"id": row["turn_id"], "state": "finished", "boot": "b", "attempt": 1, "outcome": "answered",
                    "started_at": row["said_at"], "finished_at": row["said_at"]}
        )  # fmt: skip
        for position, role in enumerate(("user", "assistant")):
            said.append(
                base | {"id": f"{row['turn_id']}-{position}", "turn_id": row["turn_id"], "position": position,
                        "role": role, "person_id": row["speaker"] if role == "user" else None,
                        "speaker": row["speaker"], "text": text, "spans": [], "files": [], "proof": "platform",
                        "sent_at": row["said_at"], "recorded_at": row["said_at"]}
            )  # fmt: skip
        words.append(
            {"id": new_id(EPOCH), "claim_id": row["id"], "message_id": f"{row['turn_id']}-0", "start": 0,
             "end": len(row["statement"]), "quote": row["statement"],
             "digest": hashlib.sha256(text.encode()).hexdigest(), "speaker": row["speaker"], "trust": "proven",
             "said_at": row["said_at"]}
        )  # fmt: skip
        events.append(
            {"seq": first + place, "claim_id": row["id"], "version": 1, "op": "written", "actor_kind": "model",
             "actor": "test/1", "at": row["said_at"]}
        )  # fmt: skip
        texts.append({"event_seq": first + place, "reason": None, "before": None,
                      "after": {"statement": row["statement"], "status": row["status"]}})  # fmt: skip
        for each in chance.sample(range(len(rows)), min(shown, len(rows))):
            stood.append({"turn_id": rows[each]["turn_id"], "claim_id": row["id"], "way": "block", "version": 1,
                          "score": 1, "at": rows[each]["said_at"]})  # fmt: skip
    for table, values in (
        (turn, turns), (message, said), (evidence, words), (claim_event, events), (claim_event_text, texts),
        (claim, rows), (claim_shown, stood),
    ):  # fmt: skip
        if values:
            tx.execute(table.insert(), values)
