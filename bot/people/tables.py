"""People, handles, pairing codes and requests, tokens of the API, and browsers that are signed in."""

from __future__ import annotations

import sqlalchemy as sa

from bot.people.model import Origin, Role
from bot.storage.metadata import UtcDateTime, metadata, one_of

person = sa.Table(
    "person",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("departments", sa.JSON, nullable=False),
    sa.Column("time_zone", sa.Text, nullable=False),
    sa.Column("quiet_hours", sa.JSON),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    one_of("role", Role),
    one_of("origin", Origin),
)

handle = sa.Table(
    "handle",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("person_id", sa.Text, sa.ForeignKey("person.id"), nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("reachable", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("greeted_at", UtcDateTime),
    sa.Column("created_at", UtcDateTime, nullable=False),
    one_of("origin", Origin),
    sa.Index("ix_handle_person_id", "person_id"),
)

pairing_code = sa.Table(
    "pairing_code",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("person_id", sa.Text, sa.ForeignKey("person.id"), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("channel", sa.Text),
    sa.Column("address", sa.Text),
    sa.Column("shown_name", sa.Text),
    sa.CheckConstraint("state IN ('open', 'claimed', 'confirmed', 'refused', 'expired', 'burned')", name="state"),
    sa.CheckConstraint("state NOT IN ('claimed', 'confirmed') OR address IS NOT NULL", name="claimed_by_someone"),
)

pairing_request = sa.Table(
    "pairing_request",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("shown_name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("asked_at", UtcDateTime, nullable=False),
    sa.Column("decided_at", UtcDateTime),
    sa.Column("decided_by", sa.Text),
    sa.CheckConstraint("state IN ('open', 'accepted', 'declined')", name="state"),
    sa.Index("ix_pairing_request_account", "channel", "address"),
    sa.Index("uq_pairing_request_open", "channel", "address", unique=True, sqlite_where=sa.text("state = 'open'")),
)

access_token = sa.Table(
    "access_token",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("person_id", sa.Text, sa.ForeignKey("person.id"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("used_at", UtcDateTime),
    sa.Column("revoked_at", UtcDateTime),
    sa.CheckConstraint("expires_at > created_at", name="ends"),
    sa.Index("ix_access_token_person_id", "person_id"),
)
"""What lets a program act as a person by the API: SHA-256 of it, never the token. `used_at` to the hour."""

sign_in_link = sa.Table(
    "sign_in_link",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("asking_digest", sa.Text),
    sa.Column("person_id", sa.Text, sa.ForeignKey("person.id"), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("used_at", UtcDateTime),
    sa.CheckConstraint("expires_at > created_at", name="ends"),
    sa.Index("ix_sign_in_link_person_id", "person_id"),
)
"""`asking_digest`: of what the browser holds that asked for the link; NULL where any browser may use it."""

browser_session = sa.Table(
    "browser_session",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("before", sa.Text),
    sa.Column("person_id", sa.Text, sa.ForeignKey("person.id"), nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("rotated_at", UtcDateTime, nullable=False),
    sa.Column("used_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    sa.CheckConstraint("expires_at > created_at", name="ends"),
    sa.Index("ix_browser_session_before", "before"),
    sa.Index("ix_browser_session_person_id", "person_id"),
)
"""`before`: the digest of the cookie before the last exchange, which holds for a moment more."""
