"""What the audit deletes of a session, or because words are forgotten: texts, with their salts. The rows stay, and the
chain with them."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.audit.tables import audit, content
from bot.kernel.erasing import Erased, Span, Words
from bot.kernel.ids import PersonId
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

_AT_ONCE = 500


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    texts = sa.select(audit.c.content_id).where(audit.c.session_id == span.session, audit.c.content_id.is_not(None))
    if span.before is not None:
        texts = texts.where(audit.c.at < span.before)
    done = tx.execute(
        content.update()
        .where(content.c.id.in_(texts), content.c.erased_at.is_(None))
        .values(salt=None, text=None, erased_at=now)
    )
    return Erased((("audit_texts", done.rowcount),))


def of_person(tx: Tx, person: PersonId, now: datetime) -> Erased:
    """The texts of what they did."""
    own = sa.and_(audit.c.actor_kind == "person", audit.c.actor == person, audit.c.content_id.is_not(None))
    done = tx.execute(
        content.update()
        .where(content.c.id.in_(sa.select(audit.c.content_id).where(own)), content.c.erased_at.is_(None))
        .values(salt=None, text=None, erased_at=now)
    )
    return Erased((("audit_texts", done.rowcount),))


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """Texts that tell the words, and those of the claims themselves, as a whole."""
    looked: list[sa.ColumnElement[bool]] = [audit.c.session_id.in_(sorted(words.own))]
    looked += [
        sa.and_(audit.c.session_id == session, audit.c.turn_id >= first) for session, first in words.shown.items()
    ]
    rows = connection.execute(
        sa.select(content.c.id, content.c.text, audit.c.payload)
        .select_from(audit.join(content, content.c.id == audit.c.content_id))
        .where(sa.or_(*looked), content.c.erased_at.is_(None))
    )
    gone = [
        row.id
        for row in rows
        if (words.may_tell(row.text) and words.tells(row.text)) or any(claim in row.payload for claim in words.claims)
    ]
    statements = tuple(
        content.update()
        .where(content.c.id.in_(gone[start : start + _AT_ONCE]))
        .values(salt=None, text=None, erased_at=now)
        for start in range(0, len(gone), _AT_ONCE)
    )
    return Redaction(Erased((("audit_texts", len(gone)),)), statements)
