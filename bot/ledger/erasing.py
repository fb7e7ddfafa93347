"""What goes of proposals because words are forgotten, and what is held after a restore.

A proposal that tells the words and is not done is withdrawn: nobody may say yes to what is no longer there.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.erasing import Erased, Words
from bot.kernel.ids import ProposalId
from bot.ledger import deciding, store
from bot.ledger.model import APPROVED, Op, Proposal, State
from bot.ledger.tables import proposal, proposal_event
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

ACTOR = Actor("system", "ledger")
_UNDONE = (State.PROPOSED.value, *APPROVED)
GONE = "erased"
"""In the place of the hash: the content is not what anybody was shown."""


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """Of all proposals: what one proposes may tell what was said anywhere."""
    texts = [sa.type_coerce(proposal.c[name], sa.Text).label(f"raw_{name}") for name in ("proposed", "final")]
    found = Redaction()
    for row in connection.execute(sa.select(proposal, *texts)):
        if not any(words.may_tell(text) or "\\u" in text for text in (row.raw_proposed, row.raw_final, row.reason)):
            continue
        left = {
            "proposed": words.value(row.proposed),
            "final": words.value(row.final),
            "reason": words.line(row.reason) or "",
        }
        if all(left[name] == getattr(row, name) for name in left):
            continue
        state = State.WITHDRAWN.value if row.state in _UNDONE else row.state
        event = proposal_event.insert().values(
            proposal_id=row.id,
            version=row.version + 1,
            op=Op.REDACTED.value,
            action=row.action,
            before=row.state,
            after=state,
            actor_kind=ACTOR.kind,
            actor=ACTOR.id,
            hash=GONE,
            at=now,
        )
        ended = row.ended_at if row.ended_at is not None or state == row.state else now
        change = (
            proposal.update()
            .where(proposal.c.id == row.id)
            .values(**left, hash=GONE, state=state, ended_at=ended, version=row.version + 1)
        )
        found += Redaction(Erased((("proposals", 1),)), (event, change))
    return found


def held(connection: sa.Connection) -> list[Proposal]:
    """Oldest first."""
    return [each for each in store.unfinished(connection) if each.held]


def release(tx: Tx, recorder: Recorder, ids: Collection[ProposalId], actor: Actor, now: datetime) -> list[ProposalId]:
    """A person looked: these go on. Returns which; others were not held."""
    found = [each for each in held(tx.connection) if each.id in ids]
    for each in found:
        store.move(tx, recorder, each, deciding.released(each), actor, now)
    return [each.id for each in found]


def hold(tx: Tx, recorder: Recorder, now: datetime) -> int:
    """After a restore: nothing is done before a person has looked. Returns how many."""
    count = 0
    for seen in store.unfinished(tx.connection):
        to = deciding.held(seen)
        if to is not None:
            store.move(tx, recorder, seen, to, ACTOR, now)
            count += 1
    return count
