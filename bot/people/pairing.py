"""Codes and requests by which an account of a platform becomes a person's handle.

A code has 60 bits, lives ten minutes, works once and in a direct message only: sent anywhere else it is burned, since
others have read it. Claiming it does not link yet: the terminal that asked for it shows the platform's immutable id
and confirms.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa

from bot.audit.events import SYSTEM, Actor, PairingCode, PairingRequested, PersonPaired, Record
from bot.audit.recorder import Recorder
from bot.kernel.ids import ALPHABET, PersonId, new_id
from bot.kernel.values import dataclass
from bot.people import store
from bot.people.model import Handle, Origin, Person, Role
from bot.people.tables import pairing_code, pairing_request
from bot.storage.database import Tx
from bot.storage.metadata import exactly

LIFETIME = timedelta(minutes=10)
DIGITS = 12
"""Of 5 bits each: 60 bits."""


class Claim(StrEnum):
    CLAIMED = "claimed"
    BURNED = "burned"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CodeState:
    id: str
    state: str
    person: PersonId
    channel: str | None
    address: str | None
    shown_name: str | None
    until: datetime
    """When its time is up."""


def make(tx: Tx, recorder: Recorder, person: PersonId, actor: Actor, now: datetime) -> tuple[str, str]:
    """Make a code for a person; returns its id and the code, which is stored only as a digest."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(DIGITS))
    code_id = new_id(now)
    tx.execute(
        pairing_code.insert().values(
            id=code_id, digest=_digest(code), person_id=person, state="open", created_at=now, expires_at=now + LIFETIME
        )
    )
    recorder.record(tx, Record(PairingCode(code_id, "made", None), actor))
    return code_id, "-".join(code[i : i + 4] for i in range(0, DIGITS, 4))


def claim(
    tx: Tx, recorder: Recorder, code: str, account: Handle, shown_name: str, *, direct: bool, now: datetime
) -> Claim:
    """Someone sent a code. Only an open, unexpired code in a direct message is claimed."""
    row = tx.execute(
        sa.select(pairing_code).where(pairing_code.c.digest == _digest(code), pairing_code.c.state == "open")
    ).first()
    if row is None:
        return Claim.UNKNOWN
    if row.expires_at <= now:
        _move(tx, recorder, row.id, "expired", account.channel)
        return Claim.UNKNOWN
    if not direct:
        _move(tx, recorder, row.id, "burned", account.channel)
        return Claim.BURNED
    tx.execute(
        pairing_code.update()
        .where(pairing_code.c.id == row.id)
        .values(state="claimed", channel=account.channel, address=account.address, shown_name=shown_name)
    )
    recorder.record(tx, Record(PairingCode(row.id, "claimed", account.channel)))
    return Claim.CLAIMED


def confirm(tx: Tx, recorder: Recorder, code_id: str, actor: Actor, now: datetime) -> Person | None:
    """Link the account that claimed the code. None unless the code is claimed and its time has not run out."""
    row = tx.execute(
        sa.select(pairing_code).where(pairing_code.c.id == code_id, pairing_code.c.state == "claimed")
    ).first()
    if row is None:
        return None
    if row.expires_at <= now:
        _move(tx, recorder, code_id, "expired", row.channel)
        return None
    _move(tx, recorder, code_id, "confirmed", row.channel, actor)
    store.add_handle(tx, PersonId(row.person_id), Handle(row.channel, row.address, Origin.PAIRED), now)
    recorder.record(tx, Record(PersonPaired(PersonId(row.person_id), row.channel), actor))
    _answer_request(tx, recorder, row.channel, row.address, actor, now)
    return store.get(tx.connection, PersonId(row.person_id))


def refuse(tx: Tx, recorder: Recorder, code_id: str, actor: Actor = SYSTEM) -> None:
    """Whoever made it said no, or went away. A code that has come to its end already stays as it is."""
    _move(tx, recorder, code_id, "refused", None, actor)


def refuse_all(tx: Tx, recorder: Recorder, person: PersonId, actor: Actor) -> int:
    """No code of this person's may be used any more. Returns how many could have been."""
    wanted = sa.and_(pairing_code.c.person_id == person, pairing_code.c.state.in_(("open", "claimed")))
    ids = tx.execute(sa.select(pairing_code.c.id).where(wanted)).scalars().all()
    for each in ids:
        _move(tx, recorder, each, "refused", None, actor)
    return len(ids)


def state(connection: sa.Connection, code_id: str) -> CodeState | None:
    row = connection.execute(sa.select(pairing_code).where(pairing_code.c.id == code_id)).first()
    if row is None:
        return None
    return CodeState(
        row.id, row.state, PersonId(row.person_id), row.channel, row.address, row.shown_name, row.expires_at
    )


def ask(tx: Tx, recorder: Recorder, account: Handle, shown_name: str, now: datetime) -> str | None:
    """A stranger asks to be let in. None if an unanswered request of theirs exists."""
    already = tx.execute(
        sa.select(pairing_request.c.id).where(
            pairing_request.c.channel == account.channel,
            pairing_request.c.address == account.address,
            pairing_request.c.state.in_(("open", "declined")),
        )
    ).first()
    if already is not None:
        return None
    request_id = new_id(now)
    tx.execute(
        pairing_request.insert().values(
            id=request_id,
            channel=account.channel,
            address=account.address,
            shown_name=shown_name,
            state="open",
            asked_at=now,
        )
    )
    recorder.record(tx, Record(PairingRequested(request_id, account.channel, "asked")))
    return request_id


@dataclass(frozen=True, slots=True)
class OpenRequest:
    id: str
    channel: str
    address: str
    shown_name: str
    asked_at: datetime


def open_requests(connection: sa.Connection) -> list[OpenRequest]:
    rows = connection.execute(sa.select(pairing_request).where(exactly(pairing_request.c.state, "open"))).all()
    return [OpenRequest(r.id, r.channel, r.address, r.shown_name, r.asked_at) for r in sorted(rows, key=lambda r: r.id)]


def decide(
    tx: Tx, recorder: Recorder, request_id: str, role: Role | None, time_zone: str, actor: Actor, now: datetime
) -> Person | None:
    """Accept a request under `role`, or decline it (`role` None). Returns the new person, None if declined or gone."""
    row = tx.execute(
        sa.select(pairing_request).where(pairing_request.c.id == request_id, pairing_request.c.state == "open")
    ).first()
    if row is None:
        return None
    step = "declined" if role is None else "accepted"
    tx.execute(
        pairing_request.update()
        .where(pairing_request.c.id == request_id)
        .values(state=step, decided_at=now, decided_by=actor.id)
    )
    recorder.record(
        tx,
        Record(PairingRequested(request_id, row.channel, "declined" if role is None else "accepted"), actor),
    )
    if role is None:
        return None
    account = Handle(row.channel, row.address, Origin.PAIRED)
    new = Person(
        PersonId(new_id(now)), row.shown_name, role, (), time_zone, None, Origin.PAIRED, True, frozenset({account})
    )
    store.add(tx, recorder, new, actor, now)
    recorder.record(tx, Record(PersonPaired(new.id, row.channel), actor))
    return new


def _answer_request(tx: Tx, recorder: Recorder, channel: str, address: str, actor: Actor, now: datetime) -> None:
    """An account that has found its owner no longer waits to be let in."""
    answered = tx.execute(
        pairing_request.update()
        .where(
            pairing_request.c.channel == channel,
            pairing_request.c.address == address,
            pairing_request.c.state == "open",
        )
        .values(state="accepted", decided_at=now, decided_by=actor.id)
        .returning(pairing_request.c.id)
    )
    for row in answered.all():
        recorder.record(tx, Record(PairingRequested(row.id, channel, "accepted"), actor))


def _move(tx: Tx, recorder: Recorder, code_id: str, to: str, channel: str | None, actor: Actor = SYSTEM) -> None:
    moved = tx.execute(
        pairing_code.update()
        .where(pairing_code.c.id == code_id, pairing_code.c.state.in_(("open", "claimed")))
        .values(state=to)
    )
    if not moved.rowcount:
        return
    recorder.record(tx, Record(PairingCode(code_id, to, channel), actor))  # type: ignore[arg-type]


def _digest(code: str) -> str:
    """Codes are compared without case and dashes; 60 random bits need no salt."""
    return hashlib.sha256(code.replace("-", "").strip().lower().encode()).hexdigest()
