"""Jobs, occurrences, the gate."""

from __future__ import annotations

import sqlalchemy as sa

from bot.scheduler.model import Delivery, JobState, Kind, Run
from bot.storage.metadata import UtcDateTime, metadata, one_of

job = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("rule_text", sa.Text, nullable=False),
    sa.Column("zone", sa.Text, nullable=False),
    sa.Column("owner", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("grace_seconds", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("next_at", UtcDateTime),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("made_at", UtcDateTime, nullable=False),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    sa.Column("paused_because", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    one_of("kind", Kind),
    one_of("state", JobState),
    sa.CheckConstraint("rule IN ('cron', 'once', 'every')", name="rule"),
    sa.CheckConstraint("(state = 'active') = (next_at IS NOT NULL)", name="active_has_next"),
    sa.CheckConstraint("grace_seconds >= 0", name="grace"),
    sa.Index("ix_job_due", "next_at", "id", sqlite_where=sa.text("state = 'active'")),
    sa.Index("ix_job_owner", "owner"),
)

occurrence = sa.Table(
    "occurrence",
    metadata,
    sa.Column("job_id", sa.Text, sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("at", UtcDateTime, primary_key=True),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("delivery", sa.Text, nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="1"),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("note", sa.Text),
    sa.Column("outbox_id", sa.Text),
    one_of("run", Run),
    one_of("delivery", Delivery),
    sa.CheckConstraint("(run = 'claimed') = (ended_at IS NULL)", name="ended"),
    sa.Index("ix_occurrence_at", "at"),
    sa.Index("ix_occurrence_claimed", "fence", sqlite_where=sa.text("run = 'claimed'")),
    sa.Index("ix_occurrence_queued", "at", sqlite_where=sa.text("delivery = 'queued'")),
    sa.Index("ix_occurrence_outbox_id", "outbox_id", sqlite_where=sa.text("outbox_id IS NOT NULL")),
)
"""One row a job and instant: that it is there means that it was claimed, once."""

gate = sa.Table(
    "gate",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("until", UtcDateTime, nullable=False),
)
"""A lease. `fence` counts up whenever another takes it; an outcome under an older one is refused."""

scheduler_pause = sa.Table(
    "scheduler_pause",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("because", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)
"""A row is there while an operator has stopped firing."""
