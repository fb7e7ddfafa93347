"""What waits for a yes or no is found by indexes: disputes, and wishes that the company may see a memory."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_index("ix_claim_disputed", "claim", ["seq"], sqlite_where=sa.text("status = 'disputed'"))
    op.create_index("ix_claim_asked", "claim", ["seq"], sqlite_where=sa.text("promotion_by IS NOT NULL"))
