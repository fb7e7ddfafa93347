"""What came of reading a turn (or a message that was edited since): one row each, whatever happens."""

from __future__ import annotations

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata

extraction = sa.Table(
    "extraction",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("turn_id", sa.Text, nullable=False),
    sa.Column("task_id", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("prompt", sa.Integer, nullable=False),
    sa.Column("proposed", sa.Integer, nullable=False),
    sa.Column("written", sa.Integer, nullable=False),
    sa.Column("confirmed", sa.Integer, nullable=False),
    sa.Column("held", sa.Integer, nullable=False),
    sa.Column("refused", sa.Integer, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Index("ix_extraction_session_id", "session_id", "at"),
    sa.Index("ix_extraction_turn_id", "turn_id"),
)
"""`source`: the turn's id, or `message:` with the message's id and the instant of its edit. `written`: claims that are
new or changed; `held`: those of them that wait for a person. Numbers and ids only."""
