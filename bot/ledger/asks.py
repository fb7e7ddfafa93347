"""SQL of the showings of proposals: who was shown what, where, by which token.

A token names one showing, in the buttons of one message; a press counts with the code behind it (`sealing`). It is
bound to one approver and to the content that was shown, works once and ends with the proposal.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import OutboxId, PersonId, ProposalId, new_id
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.ledger.model import Proposal, State
from bot.ledger.tables import ASKER, proposal, proposal_ask
from bot.outbox.tables import OutState
from bot.outbox.tables import outbox as sends
from bot.storage.database import Tx

_TOKEN_BYTES = 18


@dataclass(frozen=True, slots=True)
class Ask:
    id: str
    proposal: ProposalId
    person: PersonId
    hash: str
    """Of the content that was shown."""
    outbox: OutboxId
    """The row that carries the buttons."""
    channel: str
    thread: str
    address: str
    reminder: bool
    told: State
    """What the message says of it."""
    expires_at: datetime
    used_at: datetime | None


def new_token() -> str:
    """144 random bits, 24 characters."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def add(
    tx: Tx,
    of: Proposal,
    person: PersonId,
    token: str,
    outbox: OutboxId,
    channel: str,
    thread: str,
    address: str,
    now: datetime,
    *,
    reminder: bool,
) -> None:
    tx.execute(
        proposal_ask.insert().values(
            id=new_id(now),
            proposal_id=of.id,
            person_id=person,
            hash=of.hash,
            digest=digest_of(token),
            outbox_id=outbox,
            channel=channel,
            thread=thread,
            address=address,
            reminder=reminder,
            told=State.PROPOSED.value,
            expires_at=of.expires_at,
            at=now,
        )
    )


def note(
    tx: Tx, of: Proposal, outbox: OutboxId | None, where: tuple[str, str, str] | None, told: State, now: datetime
) -> None:
    """Who asked was told what came of it; `outbox` None: there is nobody to tell. `where`: channel, thread, address."""
    channel, thread, address = where or ("", "", "")
    tx.execute(
        proposal_ask.insert().values(
            id=new_id(now),
            proposal_id=of.id,
            person_id=of.asked_by or "",
            hash=of.hash,
            digest=f"{ASKER}{of.id}",
            outbox_id=outbox or "",
            channel=channel,
            thread=thread,
            address=address,
            reminder=False,
            told=told.value,
            expires_at=of.expires_at,
            used_at=now,
            at=now,
        )
    )


def lost(connection: sa.Connection, ids: Collection[ProposalId]) -> frozenset[OutboxId]:
    """Of what was put before people of these proposals, the messages that never reached them."""
    query = (
        sa.select(proposal_ask.c.outbox_id)
        .select_from(proposal_ask.join(sends, sends.c.id == proposal_ask.c.outbox_id))
        .where(proposal_ask.c.proposal_id.in_(sorted(ids)), sends.c.state == OutState.PARKED.value)
    )
    return frozenset(connection.execute(query).scalars())


def by_token(connection: sa.Connection, token: str) -> Ask | None:
    return _one(connection, proposal_ask.c.digest == digest_of(token))


def in_thread(connection: sa.Connection, thread: str) -> Ask | None:
    """The newest showing in a thread."""
    return _one(connection, proposal_ask.c.thread == thread)


def shown_to(connection: sa.Connection, of: ProposalId, person: PersonId) -> Ask | None:
    """What this person was shown last of a proposal."""
    return _one(connection, sa.and_(proposal_ask.c.proposal_id == of, proposal_ask.c.person_id == person))


def by_rows(
    connection: sa.Connection, scope: PersonScope, thread: str, rows: Collection[OutboxId]
) -> dict[OutboxId, ProposalId]:  # fmt: skip
    """Which proposals these messages of a thread put before the person."""
    found = connection.execute(
        sa.select(proposal_ask.c.outbox_id, proposal_ask.c.proposal_id).where(
            proposal_ask.c.thread == thread,
            proposal_ask.c.person_id == scope.person,
            proposal_ask.c.outbox_id.in_(sorted(rows)),
        )
    )
    return {OutboxId(row.outbox_id): ProposalId(row.proposal_id) for row in found}


def use(tx: Tx, ask: str, now: datetime) -> None:
    tx.execute(
        proposal_ask.update().where(proposal_ask.c.id == ask, proposal_ask.c.used_at.is_(None)).values(used_at=now)
    )


def tell(tx: Tx, ask: str, state: State) -> None:
    """Its message says so from now on."""
    tx.execute(proposal_ask.update().where(proposal_ask.c.id == ask).values(told=state.value))


def of_proposals(connection: sa.Connection, ids: Collection[ProposalId]) -> list[Ask]:
    rows = connection.execute(
        sa.select(proposal_ask).where(proposal_ask.c.proposal_id.in_(sorted(ids))).order_by(proposal_ask.c.at)
    )
    return [_ask(row) for row in rows]


def arrived(connection: sa.Connection, ids: Collection[ProposalId]) -> list[tuple[Ask, datetime]]:
    """Showings whose message was sent, the oldest first, and when."""
    rows = connection.execute(
        sa.select(proposal_ask, sends.c.ended_at)
        .select_from(proposal_ask.join(sends, sends.c.id == proposal_ask.c.outbox_id))
        .where(proposal_ask.c.proposal_id.in_(sorted(ids)), sends.c.state == OutState.SENT.value)
        .order_by(proposal_ask.c.at)
    )
    return [(_ask(row), row.ended_at) for row in rows]


def behind(connection: sa.Connection, limit: int) -> list[Ask]:
    """Showings whose message says what is no longer so."""
    rows = connection.execute(
        sa.select(proposal_ask)
        .select_from(proposal_ask.join(proposal, proposal.c.id == proposal_ask.c.proposal_id))
        .where(proposal_ask.c.told != proposal.c.state)
        .order_by(proposal_ask.c.at)
        .limit(limit)
    )
    return [_ask(row) for row in rows]


def _one(connection: sa.Connection, where: sa.ColumnElement[bool]) -> Ask | None:
    row = connection.execute(
        sa.select(proposal_ask).where(where).order_by(proposal_ask.c.at.desc(), proposal_ask.c.id.desc()).limit(1)
    ).first()
    return None if row is None else _ask(row)


def _ask(row: Any) -> Ask:
    return Ask(
        row.id,
        ProposalId(row.proposal_id),
        PersonId(row.person_id),
        row.hash,
        OutboxId(row.outbox_id),
        row.channel,
        row.thread,
        row.address,
        row.reminder,
        State(row.told),
        row.expires_at,
        row.used_at,
    )
