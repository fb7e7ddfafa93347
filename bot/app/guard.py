"""What is looked at again when a row is about to be sent."""

from __future__ import annotations

import sqlalchemy as sa

from bot.outbox import store as outbox
from bot.people import store as people
from bot.sessions import turns


def may_still_be_sent(connection: sa.Connection, row: outbox.Row) -> str | None:
    """Looked at again when a row is claimed: the audience and the recipient may have changed since it was planned."""
    if row.session is not None and row.audience_epoch is not None:
        if turns.current_epochs(connection, row.session)[1] != row.audience_epoch:
            return "audience_changed"
        if row.address:
            owner = people.by_handle(connection, row.channel, [row.address]).get(row.address)
            if owner is None or not owner.active:
                return "recipient_deactivated"
    return None
