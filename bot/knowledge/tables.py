"""Documents, their sections, and the chunks that are searched, with their full text."""

from __future__ import annotations

import sqlalchemy as sa

from bot.knowledge.model import Origin, Status
from bot.retrieval.fulltext import FullText
from bot.storage.metadata import UtcDateTime, metadata, one_of

document = sa.Table(
    "document",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("domain", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("blob", sa.Text),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("uploader", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("message_id", sa.Text),
    sa.Column("path", sa.Text),
    sa.Column("wider", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("pages", sa.Integer),
    sa.Column("characters", sa.Integer, nullable=False, server_default="0"),
    sa.Column("chunks", sa.Integer, nullable=False, server_default="0"),
    sa.Column("note", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("dated", UtcDateTime, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("decided_at", UtcDateTime),
    sa.Column("decided_by", sa.Text),
    one_of("status", Status),
    one_of("origin", Origin),
    sa.CheckConstraint("audience IN ('public', 'company') OR audience LIKE 'department:_%'", name="audience"),
    sa.CheckConstraint("(origin = 'built_in') = (blob IS NULL)", name="blob_unless_built_in"),
    sa.UniqueConstraint("name_key", "audience", "version"),
    sa.Index("uq_document_serving", "name_key", "audience", unique=True, sqlite_where=sa.text("status = 'approved'")),
    sa.Index("ix_document_status", "status", "audience"),
    sa.Index("ix_document_digest", "digest"),
    sa.Index("ix_document_session_id", "session_id"),
)
"""`digest` is that of the content; `wider`: it came from a room that fewer people read in than its audience has."""

document_department = sa.Table(
    "document_department",
    metadata,
    sa.Column("document_id", sa.Text, sa.ForeignKey("document.id"), primary_key=True),
    sa.Column("department", sa.Text, primary_key=True),
)

question = sa.Table(
    "document_question",
    metadata,
    sa.Column("document_id", sa.Text, sa.ForeignKey("document.id"), primary_key=True),
    sa.Column("thread_key", sa.Text, primary_key=True),
    sa.Column("outbox_id", sa.Text, nullable=False),
    sa.Column("turn_id", sa.Text),
    sa.Index("ix_document_question_thread_key", "thread_key"),
)
"""Where a principal was asked whether a document shall be kept, by which message, and in which turn it was answered."""

section = sa.Table(
    "section",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("document_id", sa.Text, sa.ForeignKey("document.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("heading", sa.Text, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("last_page", sa.Integer),
    sa.UniqueConstraint("document_id", "position"),
)

chunk = sa.Table(
    "chunk",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("document_id", sa.Text, sa.ForeignKey("document.id"), nullable=False),
    sa.Column("section_id", sa.Text, sa.ForeignKey("section.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("context", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.UniqueConstraint("section_id", "position"),
    sa.Index("ix_chunk_document_id", "document_id"),
    sqlite_autoincrement=True,
)
"""`context` is what a chunk must be found by although it does not say it: title, headings, keywords."""

FULL_TEXT = FullText("chunk", "seq", ("context", "text"), (2.0, 1.0))
FULL_TEXT.beside(chunk)
