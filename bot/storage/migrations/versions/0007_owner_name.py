"""An initiative keeps the name of an owner who is not of the roster, as it was written."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE claim ADD COLUMN owner_name TEXT CONSTRAINT ck_claim_owner_name CHECK "
        "(owner_name IS NULL OR (owner IS NULL AND kind = 'initiative' AND status <> 'erased'))"
    )
