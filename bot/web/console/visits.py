"""Who visits a page: the cookie of a signed-in browser, what guards its forms, and what a page may be asked."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
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

SIGNED_IN = "oe"
"""Cookie: whose browser it is."""
NOTICE = "oe_notice"
"""Cookie: one line for the next page, about what was just done."""
CSRF_HEADER = "x-csrf"
CSRF_FIELD = "csrf"
MOST_DIGITS = 18
"""Of a number in an address: what SQLite holds."""


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

    def number(self, name: str) -> int | None:
        """A number of the query; None for anything else."""
        return number(self.asked(name))


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

    async def of(self, request: Request) -> tuple[Person, Browser] | NotSignedIn:
        given = self.held(request, SIGNED_IN)
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
        return self._proof("csrf", browser)

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
        self.set(response, SIGNED_IN, cookie, round(browsers.LASTS.total_seconds()))

    def forget(self, response: Response) -> None:
        self.set(response, SIGNED_IN, "", 0)

    def set(self, response: Response, name: str, value: str, lasts: int) -> None:
        """`lasts`: seconds. `Lax`: a link in a mail leads to where one is signed in; what changes anything is guarded
        by `csrf` besides."""
        response.set_cookie(
            self._named(name), value, max_age=lasts, path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def held(self, request: Request, name: str) -> str | None:
        """What `set` left in this browser."""
        return request.cookies.get(self._named(name))

    def _named(self, name: str) -> str:
        """`__Host-`: no neighbour of this host can set it (RFC 6265bis, section 4.1.3.2). It takes https."""
        return f"__Host-{name}" if self._secure else name

    # --- a line for the next page ----------------------------------------------------------------------------------

    def leave(self, browser: Browser, response: Response, notice: Notice) -> None:
        undo = None if notice.undo is None else [notice.undo.path, list(notice.undo.fields)]
        packed = json.dumps([notice.text[:1_000], undo], separators=(",", ":")).encode()
        told = urlsafe_b64encode(packed).decode()
        self.set(response, NOTICE, f"{told}.{self._proof('notice', browser, told)}", 60)

    def left(self, browser: Browser, request: Request) -> Notice | None:
        """None for one that was not left here for this browser: other programs of this host can set its cookies, and
        what stands in a notice is believed and pressed."""
        told, _, proof = (self.held(request, NOTICE) or "").partition(".")
        if not hmac.compare_digest(self._proof("notice", browser, told).encode(), proof.encode()):
            return None
        text, undo = json.loads(urlsafe_b64decode(told))
        return Notice(text, None if undo is None else Undo(undo[0], tuple((name, value) for name, value in undo[1])))

    def _proof(self, purpose: str, browser: Browser, *told: str) -> str:
        return hmac.new(self._secret, " ".join((purpose, browser.id, *told)).encode(), hashlib.sha256).hexdigest()


def number(given: str) -> int | None:
    """One that is written in an address; None for anything else."""
    return int(given) if given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS else None


Refuse = Callable[[str], None]
"""Hears why a request was turned away, for the audit."""
