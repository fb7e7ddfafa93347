"""What the audit deletes of a session: its texts, with their salts. The rows stay, and the chain with them."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.audit.tables import audit, content
from bot.kernel.erasing import Erased, Span
from bot.storage.database import Tx


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
