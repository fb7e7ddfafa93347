"""Browsers that are signed in, and the one-time links that let them in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "sign_in_link",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("asking_digest", sa.Text()),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.CheckConstraint("expires_at > created_at", name=op.f("ck_sign_in_link_ends")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_sign_in_link_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_sign_in_link_digest")),
    )
    op.create_index("ix_sign_in_link_person_id", "sign_in_link", ["person_id"])
    op.create_table(
        "browser_session",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("before", sa.Text()),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("rotated_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.CheckConstraint("expires_at > created_at", name=op.f("ck_browser_session_ends")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_browser_session_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_session")),
        sa.UniqueConstraint("digest", name=op.f("uq_browser_session_digest")),
    )
    op.create_index("ix_browser_session_before", "browser_session", ["before"])
    op.create_index("ix_browser_session_person_id", "browser_session", ["person_id"])
