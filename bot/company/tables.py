"""Fields of the profile with their versions."""

from __future__ import annotations

import sqlalchemy as sa

from bot.company.model import Audience
from bot.storage.metadata import UtcDateTime, metadata, one_of

company_field = sa.Table(
    "company_field",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("lines", sa.JSON, nullable=False),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("current", sa.Boolean, nullable=False),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    sa.Column("changed_by", sa.Text, nullable=False),
    one_of("audience", Audience),
    sa.Index("uq_company_field_current", "name", unique=True, sqlite_where=sa.text("current")),
)
"""The newest version of a field is current, unless the field was taken away."""
