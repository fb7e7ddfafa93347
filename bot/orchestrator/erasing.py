"""What this room deletes of a session, or because words are forgotten: the requests that its turns made, and their
journals."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.kernel.erasing import Erased, Span, Words
from bot.orchestrator.tables import USED_TO, journal, prompt_part, turn_prompt
from bot.sessions.tables import OCCUPYING, turn
from bot.storage.database import Tx
from bot.storage.redaction import Redaction


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
    """Requests that are kept no longer, of all sessions, and what none of the others shares. Returns how many requests
    there were."""
    tx.execute(prompt_part.delete().where(prompt_part.c.used_at < before - USED_TO))
    return tx.execute(turn_prompt.delete().where(turn_prompt.c.at < before)).rowcount


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """The requests since the words were said, as a whole: they were put together of everything. Of the journal what
    tells them, unless its turn is not over: then it must be found when that runs again."""
    told: sa.ColumnElement[bool] = turn_prompt.c.turn_id.in_(sorted(words.turns))
    if words.first is not None:
        told = sa.or_(
            told, sa.and_(turn_prompt.c.session_id.in_(sorted(words.own)), turn_prompt.c.turn_id >= words.first)
        )
    count = connection.execute(sa.select(sa.func.count()).select_from(turn_prompt).where(told)).scalar_one()
    steps = connection.execute(
        sa.select(journal)
        .select_from(journal.join(turn, turn.c.id == journal.c.turn_id))
        .where(
            sa.or_(turn.c.session_id.in_(sorted(words.own)), turn.c.id.in_(sorted(words.turns))),
            turn.c.state.not_in(OCCUPYING),
        )
    ).all()
    gone = [row for row in steps if words.may_tell(row.result) and words.tells(row.result)]
    return Redaction(
        Erased((("prompts", count), ("steps", len(gone)))),
        (
            *((turn_prompt.delete().where(told),) if count else ()),
            *(
                journal.delete().where(
                    journal.c.turn_id == row.turn_id,
                    journal.c.name == row.name,
                    journal.c.arguments_hash == row.arguments_hash,
                )
                for row in gone
            ),
        ),
    )
