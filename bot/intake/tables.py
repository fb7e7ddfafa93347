"""The inbox, the identities of everything accepted, the channels' cursors, and counts of refusals."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata, one_of


class InState(StrEnum):
    QUEUED = "queued"
    CLAIMED = "claimed"  # belongs to a turn that runs or will be run again
    ANSWERED = "answered"
    SILENT = "silent"
    STOPPED = "stopped"
    REFUSED = "refused"
    PARKED = "parked"


class Hold(StrEnum):
    """Whether a waiting row may start a turn by itself."""

    NO = "no"
    STALE = "stale"  # came too late: one line says that the executive was away
    TOLD = "told"  # that line was said; answered together with the next message


inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("lane", sa.Boolean, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("ref", sa.Text),
    sa.Column("address", sa.Text),
    sa.Column("person_id", sa.Text),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("edit", sa.Text),
    sa.Column("album", sa.Text),
    sa.Column("hold", sa.Text, nullable=False, server_default=Hold.NO.value),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("received_at", UtcDateTime, nullable=False),
    sa.Column("ready_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    one_of("state", InState),
    one_of("hold", Hold),
    sa.CheckConstraint("(state IN ('queued', 'claimed')) = (ended_at IS NULL)", name="ended"),
    sa.CheckConstraint("state <> 'claimed' OR turn_id IS NOT NULL", name="claimed_by_turn"),
    sa.CheckConstraint(
        "state <> 'answered' OR session_id IS NOT NULL OR reason IS NOT NULL", name="answered_somewhere"
    ),
    sa.Index("ix_inbox_waiting", "session_id", "seq", sqlite_where=sa.text("state = 'queued'")),
    sa.Index("ix_inbox_session_id", "session_id", "id"),
    sa.Index("ix_inbox_turn_id", "turn_id", "seq"),
    sa.Index("ix_inbox_ref", "ref"),
    sa.Index("ix_inbox_ended_at", "ended_at"),
    sa.Index("ix_inbox_parked", "seq", sqlite_where=sa.text("state = 'parked'")),
    sqlite_autoincrement=True,
)

seen = sa.Table(
    "seen",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("inbox_id", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
"""Identities of accepted events. They outlive the rows: a message that was erased must not come in again."""

cursor = sa.Table(
    "cursor",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

refusal = sa.Table(
    "refusal",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, primary_key=True),
    sa.Column("hour", UtcDateTime, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("reported", sa.Integer, nullable=False),
)
"""How often a sender was refused within an hour, and how much of that the audit has."""
