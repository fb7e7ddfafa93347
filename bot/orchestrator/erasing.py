"""What this room deletes of a session: the requests that its turns made, and their journals."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.kernel.erasing import Erased, Span
from bot.orchestrator.tables import journal, turn_prompt
from bot.sessions.tables import turn
from bot.storage.database import Tx


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    of_session = sa.select(turn.c.id).where(turn.c.session_id == span.session)
    prompts = turn_prompt.delete().where(turn_prompt.c.session_id == span.session)
    if span.before is not None:
        of_session = of_session.where(turn.c.finished_at < span.before)
        prompts = prompts.where(turn_prompt.c.at < span.before)
    deleted = tx.execute(prompts).rowcount
    tx.execute(journal.delete().where(journal.c.turn_id.in_(of_session)))
    return Erased((("prompts", deleted),))


def drop_prompts(tx: Tx, before: datetime) -> int:
    """Requests that are kept no longer, of all sessions. Returns how many there were."""
    return tx.execute(turn_prompt.delete().where(turn_prompt.c.at < before)).rowcount
