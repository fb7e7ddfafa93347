"""The task table."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from bot.storage.metadata import UtcDateTime, metadata, one_of


class TaskState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    FAILED = "failed"  # will be tried again at `run_at`
    DONE = "done"
    DONE_EMPTY = "done_empty"
    DEAD = "dead"  # a person must look


WAITING = (TaskState.QUEUED.value, TaskState.FAILED.value)
PENDING = (*WAITING, TaskState.RUNNING.value)
TROUBLE = (TaskState.FAILED.value, TaskState.DEAD.value)

task = sa.Table(
    "task",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("boot", sa.Text),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("run_at", UtcDateTime, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    one_of("state", TaskState),
    sa.CheckConstraint("(state IN ('done', 'done_empty', 'dead')) = (ended_at IS NOT NULL)", name="ended"),
    sa.CheckConstraint("state NOT IN ('failed', 'dead') OR error IS NOT NULL", name="failure_has_error"),
    sa.Index(
        "uq_task_pending_key",
        "kind",
        "key",
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'failed', 'running')"),
    ),
    sa.Index("uq_task_running_lane", "lane", unique=True, sqlite_where=sa.text("state = 'running'")),
    sa.Index("ix_task_due", "run_at", "seq", sqlite_where=sa.text("state IN ('queued', 'failed')")),
    sa.Index("ix_task_lane_seq", "lane", "seq", sqlite_where=sa.text("state IN ('queued', 'failed', 'running')")),
    sa.Index("ix_task_trouble", "seq", sqlite_where=sa.text("state IN ('failed', 'dead')")),
    sqlite_autoincrement=True,
)
