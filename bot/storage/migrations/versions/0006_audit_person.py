"""What a person did is found in the audit by an index, so are tasks that failed, and spending is summed up from one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_index("ix_audit_person", "audit", ["actor", "id"], sqlite_where=sa.text("actor_kind = 'person'"))
    op.create_index("ix_task_trouble", "task", ["seq"], sqlite_where=sa.text("state IN ('failed', 'dead')"))
    summed = ["input", "output", "cache_read", "cache_written", "micros"]
    op.drop_index("ix_spend_day", "spend")
    op.create_index("ix_spend_day", "spend", ["day", "person_id", "model", "purpose", *summed])
