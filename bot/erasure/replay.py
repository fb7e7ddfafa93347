"""Doing erasures again on a database that is older than they are, before anybody reads in it.

What was forgotten by then is forgotten again by the ids of its memories, and its tombstones keep it from being learned
anew. A message that lost words then, and did not lose them by that (its memory was not made yet when the backup was),
goes as a whole: which of its words were meant is not known any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.erasure.journal import Entry, entries, instant
from bot.erasure.memories import Forgetting
from bot.erasure.people import PersonErasure
from bot.erasure.service import Erasure
from bot.kernel.erasing import FORGOTTEN
from bot.kernel.ids import ClaimId, DocumentId, MessageId, PersonId, SessionId
from bot.kernel.values import dataclass
from bot.memory import store
from bot.memory.erasing import note
from bot.memory.tables import tombstone
from bot.sessions import threads, transcript
from bot.storage.database import Tx

REASON = "it was erased after the backup was made"
ACTOR = Actor("system", "restore")


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many of each were erased again."""

    memories: int
    messages: int
    sessions: int
    documents: int


async def replay(erasure: Erasure, forgetting: Forgetting, people: PersonErasure, told: Sequence[Entry]) -> Replayed:
    """`told`: the journal beside the backup."""
    database = forgetting.database
    known = {_key(each) for each in await database.read(entries, long=True)}
    new = [each for each in told if _key(each) not in known]
    await database.write(lambda tx: _bury(tx, new))

    def present(connection: sa.Connection) -> list[SessionId]:
        ids = dict.fromkeys(SessionId(each["id"]) for each in new if each["what"] == "session")
        return [each for each in ids if threads.get(connection, each) is not None]

    sessions = await database.read(present, long=True)
    for session in sessions:
        await erasure.session(session, ACTOR, REASON, approved_too=False)
    for entry in new:
        if entry["what"] == "person":
            await people.again(PersonId(entry["id"]))
    removed = 0
    for entry in new:
        if entry["what"] == "document":
            removed += await erasure.document(DocumentId(entry["id"]), ACTOR)
    claims = messages = 0
    for entry in new:
        if entry["what"] == "claim":
            claims += await database.write(lambda tx, of=entry: _claim(tx, forgetting, of))  # type: ignore[misc]
    for entry in new:
        if entry["what"] == "message":
            messages += await database.write(lambda tx, of=entry: _message(tx, forgetting, of))  # type: ignore[misc]
    return Replayed(claims, messages, len(sessions), removed)


def _key(entry: Entry) -> tuple[object, ...]:
    return tuple(entry.get(name) for name in ("what", "id", "space", "of", "at"))


def _bury(tx: Tx, new: Sequence[Entry]) -> None:
    for each in new:
        if each["what"] == "tombstone":
            tx.execute(
                tombstone.insert()
                .prefix_with("OR REPLACE")
                .values(digest=each["id"], space=each["space"], of=each["of"], forgotten_at=instant(each))
            )


def _claim(tx: Tx, forgetting: Forgetting, entry: Entry) -> bool:
    claim = ClaimId(entry["id"])
    if store.get(tx.connection, claim) is None:
        note(tx, "claim", [claim], instant(entry))
        return False
    # As long ago as it was: what was said since then may be remembered, if a person says so.
    forgetting.memories_in(tx, [claim], ACTOR, REASON, instant(entry))
    return True


def _message(tx: Tx, forgetting: Forgetting, entry: Entry) -> bool:
    message = MessageId(entry["id"])
    said = transcript.by_ids(tx.connection, [message]).get(message)
    if said is None or FORGOTTEN in said.body.text:
        note(tx, "message", [message], instant(entry))
        return False
    forgetting.message_in(tx, message, instant(entry))
    return True
