"""Signing in with a browser: one-time links, and the sessions of browsers that they open.

Of what lets somebody in, a link's token or a browser's cookie (256 random bits each), only its SHA-256 is stored. A
cookie is exchanged for a new one every `ROTATED_EVERY`; the one before holds for `GRACE` more, for requests that were
under way. Whose person is not active any more is out with the next request.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, AuthLogin, AuthLogout, Record
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId, new_id
from bot.kernel.values import dataclass
from bot.people import store
from bot.people.model import Person
from bot.people.tables import browser_session, sign_in_link
from bot.people.tokens import digest
from bot.storage.database import Tx

LINK_LASTS = timedelta(minutes=10)
LASTS = timedelta(days=14)
"""A session at most, however much it is used."""
IDLE = timedelta(days=2)
"""Unused for so long, a session has ended."""
ROTATED_EVERY = timedelta(hours=1)
GRACE = timedelta(minutes=1)
USED_EVERY = timedelta(minutes=5)
"""How exactly it is kept when a session was used last."""
MOST_LINKS = 5
"""Of one person that hold at a time; the oldest gives way."""


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that is signed in."""

    id: str
    person: PersonId
    label: str
    """What the browser called itself, shortened."""
    created_at: datetime
    rotated_at: datetime
    used_at: datetime
    expires_at: datetime

    def stale(self, now: datetime) -> bool:
        """That it is in use has to be noted again."""
        return now - self.used_at >= USED_EVERY

    def worn(self, now: datetime) -> bool:
        """Its cookie has to be exchanged."""
        return now - self.rotated_at >= ROTATED_EVERY


class Refused(Enum):
    UNKNOWN = "unknown"
    ENDED = "ended"
    """Signed out, or a link that was used."""
    EXPIRED = "expired"
    DEACTIVATED = "deactivated"
    """Its person."""
    OTHER_BROWSER = "other_browser"
    """The link was asked for in another one."""


# --- links ------------------------------------------------------------------------------------------------------------


def make_link(tx: Tx, person: PersonId, asking: str | None, now: datetime) -> str:
    """The token of a link that lets in this active person once. `asking`: the secret that the browser which asked for
    it holds; None where whoever has the link may use it in any browser. Raises `PermanentError`."""
    owner = store.get(tx.connection, person)
    if owner is None or not owner.active:
        raise PermanentError(f"there is no active person {person}: see `openexecutive people list`")
    open_ = sa.select(sign_in_link.c.id).where(sign_in_link.c.person_id == person, sign_in_link.c.used_at.is_(None))
    older = tx.execute(open_.order_by(sign_in_link.c.created_at.desc(), sign_in_link.c.id.desc())).scalars().all()
    tx.execute(
        sign_in_link.delete().where(
            sa.or_(sign_in_link.c.id.in_(older[MOST_LINKS - 1 :]), sign_in_link.c.expires_at <= now - LINK_LASTS)
        )
    )
    secret = secrets.token_urlsafe(32)
    tx.execute(
        sign_in_link.insert().values(
            id=new_id(now),
            digest=digest(secret),
            asking_digest=None if asking is None else digest(asking),
            person_id=person,
            created_at=now,
            expires_at=now + LINK_LASTS,
        )
    )
    return secret


def drop_links(tx: Tx, person: PersonId) -> int:
    """No link that was made for a person lets anybody in any more. Returns how many there were."""
    unused = sa.and_(sign_in_link.c.person_id == person, sign_in_link.c.used_at.is_(None))
    return tx.execute(sign_in_link.delete().where(unused)).rowcount


def look(connection: sa.Connection, link: str, asking: str | None, now: datetime) -> Person | Refused:
    """Whom a link would let in; it stays as it is."""
    row = connection.execute(sa.select(sign_in_link).where(sign_in_link.c.digest == digest(link))).first()
    if row is None:
        return Refused.UNKNOWN
    if row.used_at is not None:
        return Refused.ENDED
    if row.expires_at <= now:
        return Refused.EXPIRED
    if row.asking_digest is not None and (asking is None or digest(asking) != row.asking_digest):
        return Refused.OTHER_BROWSER
    person = store.get(connection, PersonId(row.person_id))
    return person if person is not None and person.active else Refused.DEACTIVATED


def consume(
    tx: Tx, recorder: Recorder, link: str, asking: str | None, label: str, now: datetime
) -> tuple[Browser, str] | Refused:
    """A new session for the link, and its cookie, which is nowhere else."""
    person = look(tx.connection, link, asking, now)
    if isinstance(person, Refused):
        return person
    tx.execute(sign_in_link.update().where(sign_in_link.c.digest == digest(link)).values(used_at=now))
    cookie = secrets.token_urlsafe(32)
    made = Browser(new_id(now), person.id, " ".join(label.split())[:120], now, now, now, now + LASTS)
    tx.execute(
        browser_session.insert().values(
            id=made.id,
            digest=digest(cookie),
            person_id=made.person,
            label=made.label,
            created_at=now,
            rotated_at=now,
            used_at=now,
            expires_at=made.expires_at,
        )
    )
    recorder.record(tx, Record(AuthLogin("web", made.id), Actor("person", person.id)))
    return made, cookie


# --- sessions ---------------------------------------------------------------------------------------------------------


def check(connection: sa.Connection, cookie: str, now: datetime) -> tuple[Person, Browser] | Refused:
    """Whose session a cookie is, if it holds."""
    table, given = browser_session, digest(cookie)
    row = connection.execute(sa.select(table).where(sa.or_(table.c.digest == given, table.c.before == given))).first()
    if row is None or (row.digest != given and row.rotated_at + GRACE <= now):
        return Refused.UNKNOWN
    if row.ended_at is not None:
        return Refused.ENDED
    if row.expires_at <= now or row.used_at + IDLE <= now:
        return Refused.EXPIRED
    person = store.get(connection, PersonId(row.person_id))
    if person is None or not person.active:
        return Refused.DEACTIVATED
    return person, _browser(row)


def use(tx: Tx, browser: Browser, now: datetime) -> None:
    """Note that it is in use."""
    tx.execute(browser_session.update().where(browser_session.c.id == browser.id).values(used_at=now))


def rotate(tx: Tx, browser: Browser, now: datetime) -> str | None:
    """The cookie that takes the place of the one it has; None if another request was quicker, or it has ended."""
    table, cookie = browser_session, secrets.token_urlsafe(32)
    done = tx.execute(
        table.update()
        .where(table.c.id == browser.id, table.c.rotated_at == browser.rotated_at, table.c.ended_at.is_(None))
        .values(before=table.c.digest, digest=digest(cookie), rotated_at=now, used_at=now)
    )
    return cookie if done.rowcount else None


def end(tx: Tx, recorder: Recorder, person: PersonId, browser: str | None, actor: Actor, now: datetime) -> int:
    """Sign out one session of a person, or all of them (None); how many had to be."""
    table = browser_session
    wanted = sa.and_(table.c.person_id == person, table.c.ended_at.is_(None))
    if browser is not None:
        wanted = sa.and_(wanted, table.c.id == browser)
    ended = tx.execute(table.update().where(wanted).values(ended_at=now).returning(table.c.id)).scalars().all()
    for each in ended:
        recorder.record(tx, Record(AuthLogout("web", each), actor))
    return len(ended)


def listed(connection: sa.Connection, person: PersonId, now: datetime) -> list[Browser]:
    """A person's sessions that hold, the last used first."""
    table = browser_session
    query = (
        sa.select(table)
        .where(
            table.c.person_id == person,
            table.c.ended_at.is_(None),
            table.c.expires_at > now,
            table.c.used_at > now - IDLE,
        )
        .order_by(table.c.used_at.desc(), table.c.id)
    )
    return [_browser(row) for row in connection.execute(query)]


def _browser(row: Any) -> Browser:
    return Browser(
        row.id, PersonId(row.person_id), row.label, row.created_at, row.rotated_at, row.used_at, row.expires_at
    )
