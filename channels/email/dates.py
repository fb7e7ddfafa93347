"""The Date header (RFC 5322 s3.3, with the obsolete zones). Pure."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime


def parse_date(value: str) -> datetime | None:
    """Aware, in UTC; a date without a zone is taken for UTC (`-0000`). None for anything that is no date."""
    try:
        parsed = email.utils.parsedate_to_datetime(value.strip()[:100])
        moment = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
        return moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
        return None
