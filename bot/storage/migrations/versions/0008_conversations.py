"""A conversation is read back by the page that shows it: what came in and what was said, in order; and where somebody
is."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_index("ix_inbox_session_id", "inbox", ["session_id", "id"])
    op.create_index("ix_outbox_thread_key", "outbox", ["thread_key", "id"])
    op.create_index("ix_presence_address", "presence", ["address", "place_key"])
