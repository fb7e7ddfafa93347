"""What pages look for has indexes: proposals by who asked, runs of schedules by time, all parts of a reply."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_index("ix_proposal_asked_by", "proposal", ["asked_by", "seq"])
    op.create_index("ix_occurrence_at", "occurrence", ["at"])
    op.create_index("ix_outbox_reply_id", "outbox", ["reply_id", "part"])
