"""Places that have a list have an index: all but mail threads, which are many."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    listed = sa.text("kind IN ('group', 'channel', 'direct')")
    op.create_index("ix_place_listed", "place", ["key"], sqlite_where=listed)
