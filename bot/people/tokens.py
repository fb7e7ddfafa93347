"""Tokens with which a program acts as a person by the API: 256 random bits, stored as their SHA-256 only, for a time.

They are no passwords: nobody chooses them, so a plain hash is as good as a slow one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, AuthLogin, Record, TokenChanged
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId, new_id
from bot.kernel.values import dataclass
from bot.people import store
from bot.people.model import Person
from bot.people.tables import access_token
from bot.storage.database import Tx

PREFIX = "oe_"
LONGEST = timedelta(days=366)
USED_EVERY = timedelta(hours=1)
"""How exactly it is kept when a token was used last."""
_SHAPE = re.compile(r"oe_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    person: PersonId
    name: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None

    def stale(self, now: datetime) -> bool:
        """That it is in use has to be noted again."""
        return self.used_at is None or now - self.used_at >= USED_EVERY


class Refused(Enum):
    UNKNOWN = "unknown"
    REVOKED = "revoked"
    EXPIRED = "expired"
    DEACTIVATED = "deactivated"
    """Its person."""


def make(
    tx: Tx, recorder: Recorder, person: PersonId, name: str, lasts: timedelta, actor: Actor, now: datetime
) -> tuple[Token, str]:
    """A new token of an active person, and its secret, which is nowhere else. Raises `PermanentError`."""
    owner = store.get(tx.connection, person)
    if owner is None or not owner.active:
        raise PermanentError(f"there is no active person {person}: see `openexecutive people list`")
    if not timedelta() < lasts <= LONGEST:
        raise PermanentError(f"a token lasts a day at least and {LONGEST.days} days at most")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(new_id(now), person, " ".join(name.split())[:80], now, now + lasts, None, None)
    tx.execute(
        access_token.insert().values(
            id=token.id,
            digest=digest(secret),
            person_id=person,
            name=token.name,
            created_at=now,
            expires_at=token.expires_at,
        )
    )
    recorder.record(tx, Record(TokenChanged(token.id, person, "made"), actor))
    return token, secret


def check(connection: sa.Connection, secret: str, now: datetime) -> tuple[Person, Token] | Refused:
    """Whose token it is, if it holds."""
    if not _SHAPE.fullmatch(secret):
        return Refused.UNKNOWN
    row = connection.execute(sa.select(access_token).where(access_token.c.digest == digest(secret))).first()
    if row is None:
        return Refused.UNKNOWN
    token = _token(row)
    if token.revoked_at is not None:
        return Refused.REVOKED
    if token.expires_at <= now:
        return Refused.EXPIRED
    person = store.get(connection, token.person)
    if person is None or not person.active:
        return Refused.DEACTIVATED
    return person, token


def use(tx: Tx, recorder: Recorder, token: Token, now: datetime) -> None:
    """Note that it is in use."""
    done = tx.execute(
        access_token.update()
        .where(
            access_token.c.id == token.id,
            sa.or_(access_token.c.used_at.is_(None), access_token.c.used_at <= now - USED_EVERY),
        )
        .values(used_at=now)
    )
    if done.rowcount:
        recorder.record(tx, Record(AuthLogin("api", token.id), Actor("person", token.person)))


def revoke(tx: Tx, recorder: Recorder, token_id: str, actor: Actor, now: datetime) -> bool:
    """False if there is no such token that is not revoked."""
    row = tx.execute(
        access_token.update()
        .where(access_token.c.id == token_id, access_token.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(access_token.c.person_id)
    ).first()
    if row is None:
        return False
    recorder.record(tx, Record(TokenChanged(token_id, PersonId(row.person_id), "revoked"), actor))
    return True


def holding(connection: sa.Connection, person: PersonId, now: datetime) -> int:
    """How many tokens of a person let a program in."""
    theirs = (access_token.c.person_id == person, access_token.c.revoked_at.is_(None), access_token.c.expires_at > now)
    return int(connection.execute(sa.select(sa.func.count()).where(*theirs)).scalar_one())


def revoke_all(tx: Tx, recorder: Recorder, person: PersonId, actor: Actor, now: datetime) -> int:
    """Of one person. Returns how many were not revoked yet."""
    theirs = sa.select(access_token.c.id).where(access_token.c.person_id == person, access_token.c.revoked_at.is_(None))
    return sum(revoke(tx, recorder, each, actor, now) for each in tx.execute(theirs).scalars().all())


def listed(connection: sa.Connection) -> list[Token]:
    """All tokens, the newest first."""
    rows = connection.execute(sa.select(access_token).order_by(access_token.c.created_at.desc(), access_token.c.id))
    return [_token(row) for row in rows]


def of(connection: sa.Connection, person: PersonId) -> list[Token]:
    """A person's own, the newest first."""
    query = sa.select(access_token).where(access_token.c.person_id == person)
    rows = connection.execute(query.order_by(access_token.c.created_at.desc(), access_token.c.id))
    return [_token(row) for row in rows]


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: Any) -> Token:
    return Token(row.id, PersonId(row.person_id), row.name, row.created_at, row.expires_at, row.used_at, row.revoked_at)
