"""Who asks: a bearer token (RFC 6750, section 2.1), and how often somebody may try one that does not hold; or the
cookie of a browser that is signed in to the console, for what its pages ask."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.people import tokens
from bot.people.model import Person
from bot.people.tokens import Refused
from bot.storage.database import Database
from bot.web.console.visits import CSRF_HEADER, NotSignedIn, Visitors
from bot.web.hosts import asker
from bot.web.rates import Rates

FAILURES = 20
"""Of one address in `WINDOW`; after them tokens that have not let anybody in yet are not looked at any more."""
WINDOW = 60.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Denied:
    status: int
    reason: str
    """Short, for the audit."""
    message: str
    retry_after: int | None = None


class Door:
    """`on_refused` hears why nobody was let in. `visitors`: None where there is no console."""

    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        on_refused: Callable[[str], None],
        visitors: Visitors | None = None,
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._on_refused = on_refused
        self._visitors = visitors
        self._failed = Rates(FAILURES, WINDOW, clock)
        self._known: set[str] = set()

    async def enter(self, request: Request) -> Person | Denied:
        found = await self._enter(request)
        if isinstance(found, Denied):
            self._on_refused(found.reason)
        return found

    async def _enter(self, request: Request) -> Person | Denied:
        if "authorization" not in request.headers and self._visitors is not None:
            found = await self._visiting(request, self._visitors)
            if found is not None:
                return found
        secret = _bearer(request)
        if secret is None:
            return Denied(401, "api_no_token", "This wants a token: Authorization: Bearer …")
        peer = asker(request.client.host if request.client is not None else "", request.headers.get("x-forwarded-for"))
        digest = tokens.digest(secret)
        wait = 0 if digest in self._known else self._failed.wait(peer)
        if wait:
            return Denied(429, "api_too_many", "Too many tokens that do not hold.", wait)
        now = self._clock.now()
        owner = await self._database.read(lambda c: tokens.check(c, secret, now))
        if isinstance(owner, Refused):
            self._known.discard(digest)
            self._failed.count(peer)
            return Denied(401, f"api_token_{owner.value}", "This token does not hold.")
        person, token = owner
        self._known.add(digest)
        if token.stale(now):
            await self._database.write(lambda tx: tokens.use(tx, self._recorder, token, now))
        return person

    async def _visiting(self, request: Request, visitors: Visitors) -> Person | Denied | None:
        """Whose browser asks; None without a cookie. What changes anything carries the guard of the pages' forms."""
        found = await visitors.of(request)
        if isinstance(found, NotSignedIn):
            return None if found.had is None else Denied(401, f"api_session_{found.had.value}", "Sign in again.")
        person, browser = found
        if request.method not in ("GET", "HEAD") and not visitors.same(browser, request.headers.get(CSRF_HEADER, "")):
            return Denied(403, "api_bad_csrf", "This is not asked by a page of your session.")
        return person


def _bearer(request: Request) -> str | None:
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        return None
    scheme, _, secret = given[0].partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None
