"""Who asks: a bearer token (RFC 6750, section 2.1), and how often somebody may try one that does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.people import tokens
from bot.people.model import Person
from bot.people.tokens import Refused
from bot.storage.database import Database
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
    """`on_refused` hears why nobody was let in."""

    def __init__(self, database: Database, recorder: Recorder, clock: Clock, on_refused: Callable[[str], None]) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._on_refused = on_refused
        self._failed = Rates(FAILURES, WINDOW, clock)
        self._known: set[str] = set()

    async def enter(self, request: Request) -> Person | Denied:
        found = await self._enter(request)
        if isinstance(found, Denied):
            self._on_refused(found.reason)
        return found

    async def _enter(self, request: Request) -> Person | Denied:
        secret = _bearer(request)
        if secret is None:
            return Denied(401, "api_no_token", "This wants a token: Authorization: Bearer …")
        peer = request.client.host if request.client is not None else ""
        digest = tokens.digest(secret)
        wait = 0 if digest in self._known else self._failed.wait(peer)
        if wait:
            return Denied(429, "api_too_many", "Too many tokens that do not hold.", wait)
        now = self._clock.now()
        found = await self._database.read(lambda c: tokens.check(c, secret, now))
        if isinstance(found, Refused):
            self._known.discard(digest)
            self._failed.count(peer)
            return Denied(401, f"api_token_{found.value}", "This token does not hold.")
        person, token = found
        self._known.add(digest)
        if token.stale(now):
            await self._database.write(lambda tx: tokens.use(tx, self._recorder, token, now))
        return person


def _bearer(request: Request) -> str | None:
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        return None
    scheme, _, secret = given[0].partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None
