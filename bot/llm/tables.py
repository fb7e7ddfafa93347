"""What was spent on the model."""

from __future__ import annotations

import sqlalchemy as sa

from bot.llm.budget import Limit, Purpose
from bot.storage.metadata import UtcDateTime, metadata, one_of

spend = sa.Table(
    "spend",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("day", sa.Text, nullable=False),
    sa.Column("person_id", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("scheduled", sa.Boolean, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("input", sa.Integer, nullable=False),
    sa.Column("output", sa.Integer, nullable=False),
    sa.Column("cache_read", sa.Integer, nullable=False),
    sa.Column("cache_written", sa.Integer, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.Column("estimated", sa.Boolean, nullable=False),
    one_of("purpose", Purpose),
    sa.Index(
        "ix_spend_day",
        *("day", "person_id", "model", "purpose"),
        *("input", "output", "cache_read", "cache_written", "micros"),
    ),
)
"""One row a call. `day` is the company's own (ISO); `micros` are millionths of a US dollar; `estimated`: the call ended
without saying what it used. The index holds all that is summed up: years are summed up without a look at the rows."""

budget_warning = sa.Table(
    "budget_warning",
    metadata,
    sa.Column("budget", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("since", sa.Text, primary_key=True),
    one_of("budget", Limit),
)
"""Warnings that were given: one a limit, subject and window of time, by the window's first day."""
