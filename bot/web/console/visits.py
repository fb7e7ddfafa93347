"""Who visits a page: the cookie of a signed-in browser, what guards its forms, and what a page may be asked."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from datetime import datetime

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.people import browsers
from bot.people.browsers import Browser
from bot.people.model import Person
from bot.storage.database import Database, Tx

NOTICE = "oe_notice"
"""Cookie: one line for the next page, about what was just done."""
CSRF_HEADER = "x-csrf"
CSRF_FIELD = "csrf"


@dataclass(frozen=True, slots=True)
class Undo:
    """A button beside a notice: the path it posts to, and the fields it sends."""

    path: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    undo: Undo | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a person for a page."""

    request: Request
    person: Person
    browser: Browser
    csrf: str
    now: datetime
    form: FormData
    """Of a POST; empty otherwise. Text fields only."""

    @property
    def scope(self) -> PersonScope:
        return PersonScope(self.person.id)

    @property
    def partial(self) -> bool:
        """Asked for by htmx, which puts a part of the page in its place."""
        headers = self.request.headers
        return "hx-request" in headers and "hx-boosted" not in headers and "hx-history-restore-request" not in headers

    def field(self, name: str) -> str:
        """A text field of the form, or "" without it; line ends as `\\n`."""
        value = self.form.get(name)
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def fields(self, name: str) -> tuple[str, ...]:
        return tuple(each for each in self.form.getlist(name) if isinstance(each, str))

    def asked(self, name: str) -> str:
        """A parameter of the query, stripped, or ""."""
        return self.request.query_params.get(name, "").strip()


@dataclass(frozen=True, slots=True)
class NotSignedIn:
    """`had`: why the cookie does not hold; None without one."""

    had: browsers.Refused | None


class Visitors:
    """Cookies of browsers, read and set. `secret` is this installation's own; `secure`: the console is reached by https
    only."""

    def __init__(self, database: Database, recorder: Recorder, clock: Clock, secret: bytes, secure: bool) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._secret = secret
        self._secure = secure
        self.cookie = "__Host-oe" if secure else "oe"

    async def of(self, request: Request) -> tuple[Person, Browser] | NotSignedIn:
        given = request.cookies.get(self.cookie)
        if given is None:
            return NotSignedIn(None)
        now = self._clock.now()
        found = await self._database.read(lambda c: browsers.check(c, given, now))
        if isinstance(found, browsers.Refused):
            return NotSignedIn(found)
        _, browser = found
        if browser.stale(now):
            await self._database.write(lambda tx: browsers.use(tx, browser, now))
        return found

    def csrf(self, browser: Browser) -> str:
        """What every form of this browser carries. It outlives an exchange of the cookie; nobody else can make it."""
        return hmac.new(self._secret, b"csrf " + browser.id.encode(), hashlib.sha256).hexdigest()

    def same(self, browser: Browser, given: str) -> bool:
        return hmac.compare_digest(self.csrf(browser).encode(), given.encode())

    async def refresh(self, browser: Browser, response: Response) -> None:
        """Exchange the cookie when its time has come."""
        now = self._clock.now()
        if browser.worn(now):

            def exchange(tx: Tx) -> str | None:
                return browsers.rotate(tx, browser, now)

            cookie = await self._database.write(exchange)
            if cookie is not None:
                self.remember(response, cookie)

    def remember(self, response: Response, cookie: str) -> None:
        self.set(response, self.cookie, cookie, round(browsers.LASTS.total_seconds()))

    def forget(self, response: Response) -> None:
        self.set(response, self.cookie, "", 0)

    def set(self, response: Response, name: str, value: str, lasts: int) -> None:
        """`lasts`: seconds. `Lax`: a link in a mail leads to where one is signed in; what changes anything is guarded
        by `csrf` besides."""
        response.set_cookie(name, value, max_age=lasts, path="/", secure=self._secure, httponly=True, samesite="lax")

    # --- a line for the next page ----------------------------------------------------------------------------------

    def leave(self, response: Response, notice: Notice) -> None:
        undo = None if notice.undo is None else [notice.undo.path, list(notice.undo.fields)]
        packed = json.dumps([notice.text[:1_000], undo], separators=(",", ":")).encode()
        self.set(response, NOTICE, urlsafe_b64encode(packed).decode(), 60)

    def left(self, request: Request) -> Notice | None:
        given = request.cookies.get(NOTICE)
        if not given:
            return None
        try:
            text, undo = json.loads(urlsafe_b64decode(given.encode()))
            return Notice(str(text), None if undo is None else Undo(str(undo[0]), tuple((k, v) for k, v in undo[1])))
        except (ValueError, NotBase64, TypeError, IndexError):
            return None


Refuse = Callable[[str], None]
"""Hears why a request was turned away, for the audit."""
