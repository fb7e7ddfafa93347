"""The journal: steps of a turn that must not be repeated when the turn runs again."""

from __future__ import annotations

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("turn_id", sa.Text, sa.ForeignKey("turn.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("arguments_hash", sa.Text, primary_key=True),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)
