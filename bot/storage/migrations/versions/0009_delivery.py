"""No delivery of a schedule waits for an approval: what reaches somebody else is approved when the schedule is made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """SQLite cannot change a CHECK: the table is made anew under its own name, with what it held."""
    op.execute("CREATE TEMPORARY TABLE kept_occurrence AS SELECT * FROM occurrence")
    op.drop_table("occurrence")
    op.create_table(
        "occurrence",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("delivery", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="1", nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("note", sa.Text()),
        sa.Column("outbox_id", sa.Text()),
        sa.CheckConstraint("(run = 'claimed') = (ended_at IS NULL)", name=op.f("ck_occurrence_ended")),
        sa.CheckConstraint(
            "delivery IN ('none', 'queued', 'sent', 'failed', 'uncertain')", name=op.f("ck_occurrence_delivery")
        ),
        sa.CheckConstraint(
            "run IN ('claimed', 'done', 'nothing', 'skipped', 'failed')", name=op.f("ck_occurrence_run")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_occurrence_job_id")),
        sa.PrimaryKeyConstraint("job_id", "at", name=op.f("pk_occurrence")),
    )
    op.execute("INSERT INTO occurrence SELECT * FROM kept_occurrence")
    op.execute("DROP TABLE kept_occurrence")
    op.create_index("ix_occurrence_claimed", "occurrence", ["fence"], sqlite_where=sa.text("run = 'claimed'"))
    op.create_index(
        "ix_occurrence_outbox_id", "occurrence", ["outbox_id"], sqlite_where=sa.text("outbox_id IS NOT NULL")
    )
    op.create_index("ix_occurrence_queued", "occurrence", ["at"], sqlite_where=sa.text("delivery = 'queued'"))
