"""The audit table and its erasable texts."""

from __future__ import annotations

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata

content = sa.Table(
    "content",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("salt", sa.LargeBinary),
    sa.Column("text", sa.Text),
    sa.Column("erased_at", UtcDateTime),
    sa.CheckConstraint(
        "(erased_at IS NULL) = (text IS NOT NULL) AND (erased_at IS NULL) = (salt IS NOT NULL)", name="erased_whole"
    ),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("content_id", sa.Text),
    sa.Column("content_mac", sa.Text),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.CheckConstraint("actor_kind IN ('person', 'model', 'system', 'stranger')", name="actor_kind"),
    sa.CheckConstraint("(content_id IS NULL) = (content_mac IS NULL)", name="content_has_mac"),
    sa.Index("ix_audit_session_id_id", "session_id", "id"),
    sa.Index("ix_audit_turn_id", "turn_id"),
    sa.Index("ix_audit_type_id", "type", "id"),
    sa.Index("ix_audit_person", "actor", "id", sqlite_where=sa.text("actor_kind = 'person'")),
)

_REFUSED = {
    "update": "BEFORE UPDATE ON audit",
    "delete": "BEFORE DELETE ON audit",
    # INSERT OR REPLACE deletes without firing a DELETE trigger (sqlite.org/lang_conflict.html).
    "replace": "BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)",
}

for name, when in _REFUSED.items():
    sa.event.listen(
        audit,
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER audit_no_{name} {when} BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END"
        ),
    )
