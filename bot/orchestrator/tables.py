"""The journal: steps of a turn that must not be repeated when the turn runs again. And what the model was asked."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from bot.llm.budget import Purpose
from bot.storage.metadata import UtcDateTime, metadata, one_of

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("turn_id", sa.Text, sa.ForeignKey("turn.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("arguments_hash", sa.Text, primary_key=True),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

turn_prompt = sa.Table(
    "turn_prompt",
    metadata,
    sa.Column("turn_id", sa.Text, sa.ForeignKey("turn.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    one_of("purpose", Purpose),
    sa.Index("ix_turn_prompt_session_id", "session_id", "at"),
    sa.Index("ix_turn_prompt_at", "at"),
)
"""The requests of a turn, compressed: references to what stands elsewhere, and the rest."""

prompt_part = sa.Table(
    "prompt_part",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("used_at", UtcDateTime, nullable=False),
)
"""What many requests share, compressed: the persona, charters, the company's profile, the tools. `used_at`: the last
use, to a day."""

USED_TO = timedelta(days=1)
"""How far `used_at` may be behind: a part that is in use is not written with every turn."""
