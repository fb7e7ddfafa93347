"""The outbox."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata, one_of


class OutState(StrEnum):
    QUEUED = "queued"
    CLAIMED = "claimed"  # about to be sent, or being sent
    UNCERTAIN = "uncertain"  # tried, and not known whether it arrived
    SENT = "sent"
    PARKED = "parked"  # a person must look


class Policy(StrEnum):
    """What to do with a send whose outcome cannot be found out."""

    RESEND_ONCE = "resend_once"
    PARK = "park"


outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("reply_id", sa.Text, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("thread_key", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("audience_epoch", sa.Integer),
    sa.Column("op", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("boot", sa.Text),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("again", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("not_before", UtcDateTime, nullable=False),
    sa.Column("tried_at", UtcDateTime),
    sa.Column("ref", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    one_of("state", OutState),
    one_of("policy", Policy),
    sa.CheckConstraint("(state IN ('sent', 'parked')) = (ended_at IS NOT NULL)", name="ended"),
    sa.CheckConstraint("state <> 'parked' OR reason IS NOT NULL", name="parked_has_reason"),
    sa.Index("uq_outbox_lane", "thread_key", unique=True, sqlite_where=sa.text("state IN ('claimed', 'uncertain')")),
    sa.Index(
        "ix_outbox_waiting",
        "thread_key",
        "seq",
        sqlite_where=sa.text("state IN ('queued', 'claimed', 'uncertain')"),
    ),
    sa.Index("ix_outbox_thread_key", "thread_key", "id"),
    sa.Index("ix_outbox_reply_id", "reply_id", "part"),
    sa.Index("ix_outbox_ref", "ref"),
    sa.Index("ix_outbox_turn_id", "turn_id"),
    sa.Index("ix_outbox_parked", "ended_at", sqlite_where=sa.text("state = 'parked'")),
    sqlite_autoincrement=True,
)
