"""Where one person looks for proposals: what waits for their word, for others', what they asked for, what is over."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from bot.kernel.ids import ProposalId
from bot.ledger import store
from bot.ledger.model import Proposal, State
from bot.ledger.tables import proposal
from bot.people.model import Person, Role
from bot.storage.metadata import exactly


class Shelf(StrEnum):
    """Where one person looks for proposals."""

    MINE = "mine"  # they wait for this person's word
    OTHERS = "others"  # they wait for somebody else's
    ASKED = "asked"  # this person asked for them
    DECIDED = "decided"  # they wait for nobody any more


def shelved(
    connection: sa.Connection, reader: Person, shelf: Shelf, before: ProposalId | None, limit: int
) -> list[Proposal]:
    """What this person may see of them: what they may decide, what they asked for and, as a principal, everything.
    What waits stands with the next to expire first; of all others the newest first, and from there (`before`) on."""
    approver = sa.func.json_each(proposal.c.approvers).table_valued("value", name="approver")
    decides = sa.exists().where(approver.c.value == reader.id)
    asked = proposal.c.asked_by == reader.id
    seen = sa.true() if reader.active and reader.role is Role.PRINCIPAL else sa.or_(asked, decides)
    waits = exactly(proposal.c.state, State.PROPOSED.value)
    query = sa.select(proposal).where(
        {
            Shelf.MINE: sa.and_(waits, decides),
            Shelf.OTHERS: sa.and_(waits, seen, sa.not_(decides)),
            Shelf.ASKED: asked,
            Shelf.DECIDED: sa.and_(proposal.c.state != State.PROPOSED.value, seen),
        }[shelf]
    )
    if shelf in (Shelf.MINE, Shelf.OTHERS):
        query = query.order_by(proposal.c.expires_at, proposal.c.seq)
    else:
        query = query.order_by(proposal.c.seq.desc())
        if before is not None:
            query = query.where(
                proposal.c.seq < sa.select(proposal.c.seq).where(proposal.c.id == before).scalar_subquery()
            )
    return store.of_rows(connection, connection.execute(query.limit(limit)).all())
