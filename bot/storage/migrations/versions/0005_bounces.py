"""Events of proposals know one more thing that can happen: what was sent came back."""
# ruff: noqa: E501 - constraints stand as the database has them

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """SQLite cannot change a CHECK: the table is made anew under its own name (a renamed one would be quoted from then
    on), with what it held. Its triggers go with it."""
    op.execute("CREATE TEMPORARY TABLE kept_event AS SELECT * FROM proposal_event")
    op.drop_table("proposal_event")
    op.create_table(
        "proposal_event",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("proposal_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("op", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("before", sa.Text()),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text()),
        sa.Column("confidence", sa.Float()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("actor_kind IN ('person', 'model', 'system')", name=op.f("ck_proposal_event_actor_kind")),
        sa.CheckConstraint(
            "op IN ('made', 'shown', 'reminded', 'voted', 'revised', 'decided', 'expired', 'withdrawn', 'returned', 'executing', 'executed', 'failed', 'resolved', 'reversed', 'reversal_failed', 'bounced', 'held', 'released', 'redacted')",
            name=op.f("ck_proposal_event_op"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_proposal_event")),
        sa.UniqueConstraint("proposal_id", "version", name=op.f("uq_proposal_event_proposal_id_version")),
        sqlite_autoincrement=True,
    )
    op.execute("INSERT INTO proposal_event SELECT * FROM kept_event")
    op.execute("DROP TABLE kept_event")
    op.create_index("ix_proposal_event_action", "proposal_event", ["action", "op"])
    op.execute(
        "CREATE TRIGGER proposal_event_no_update BEFORE UPDATE ON proposal_event BEGIN SELECT RAISE(ABORT, 'events "
        "are never changed'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_event_no_delete BEFORE DELETE ON proposal_event BEGIN SELECT RAISE(ABORT, 'events "
        "are never deleted'); END"
    )
