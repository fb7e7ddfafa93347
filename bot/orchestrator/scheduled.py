"""Messages that no person has just written: what somebody put to the executive beforehand, for a certain time."""

from __future__ import annotations

from collections.abc import Sequence

from bot.intake import store as inbox

SCHEDULED = "schedule:"
"""Begins the identity of such a message. Those of platforms begin with the channel's name."""


def is_scheduled(rows: Sequence[inbox.Row]) -> bool:
    """Whether a turn has such a message among its own. Then it goes on the budget of scheduled work, no errand is read
    out of its words, and no memory."""
    return any(key.startswith(SCHEDULED) for row in rows for key in row.event.keys)
