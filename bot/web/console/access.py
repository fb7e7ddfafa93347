"""Access: the browsers in which a person is signed in, and the tokens with which programs act as them."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa
from starlette.routing import Route

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.people import browsers, tokens
from bot.people.browsers import Browser
from bot.people.tokens import Token
from bot.storage.database import Database, Tx
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, Visit
from bot.web.refusals import Refusal, UnknownThingError

LASTING = (7, 30, 90, 365)
"""Days that a token may last."""
MOST = 20
"""Tokens of one person that hold at a time."""
_BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
"""By how they tell their names; who tells several is the one that stands first here."""
_SYSTEMS = {
    "Android": "Android", "iPhone": "an iPhone", "iPad": "an iPad", "Windows": "Windows", "Mac OS X": "a Mac",
    "CrOS": "ChromeOS", "Linux": "Linux",
}  # fmt: skip


class AccessPage:
    def __init__(self, database: Database, recorder: Recorder) -> None:
        self._database = database
        self._recorder = recorder

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/settings/access", self.show),
            site.page("/settings/tokens", self.make, method="POST"),
            site.page("/settings/tokens/{token}/revoke", self.revoke, method="POST"),
        ]

    async def show(self, visit: Visit) -> Page:
        return await self._page(visit, None)

    async def make(self, visit: Visit) -> Page:
        """Its secret stands in this answer, and nowhere else."""
        days = visit.field("days")
        if days not in map(str, LASTING):
            raise Refusal(422, "unclear", "Say how long the token shall last.")
        actor = Actor("person", visit.person.id)

        def unit(tx: Tx) -> tuple[Token, str]:
            if sum(_holds(each, visit) for each in tokens.of(tx.connection, visit.person.id)) >= MOST:
                raise Refusal(409, "too_many", f"You have {MOST} tokens already: revoke one first.")
            lasts = timedelta(days=int(days))
            return tokens.make(tx, self._recorder, visit.person.id, visit.field("name"), lasts, actor, visit.now)

        return await self._page(visit, await self._database.write(unit))

    async def revoke(self, visit: Visit) -> Moved:
        wanted, actor = visit.request.path_params["token"], Actor("person", visit.person.id)

        def unit(tx: Tx) -> bool:
            own = any(each.id == wanted for each in tokens.of(tx.connection, visit.person.id))
            return own and tokens.revoke(tx, self._recorder, wanted, actor, visit.now)

        if not await self._database.write(unit):
            raise UnknownThingError("There is no such token that holds.")
        return Moved("/settings/access", Notice("The token is revoked: whoever holds it is turned away from now on."))

    async def _page(self, visit: Visit, made: tuple[Token, str] | None) -> Page:
        def query(connection: sa.Connection) -> tuple[list[Browser], list[Token]]:
            in_use = browsers.listed(connection, visit.person.id, visit.now)
            return in_use, tokens.of(connection, visit.person.id)

        signed_in, own = await self._database.read(query)
        values = {
            "browsers": [(each, called(each.label), each.id == visit.browser.id) for each in signed_in],
            "tokens": [each for each in own if _holds(each, visit)],
            "ended": sum(not _holds(each, visit) for each in own),
            "made": made,
            "lasting": LASTING,
        }
        return Page("settings/access.html", values)


def called(label: str) -> str:
    """What a browser calls itself (RFC 9110, section 10.1.5), for people."""
    browser = next((name for sign, name in _BROWSERS.items() if sign in label), None)
    system = next((name for sign, name in _SYSTEMS.items() if sign in label), None)
    if browser is None:
        return label or "a browser"
    return f"{browser} on {system}" if system else browser


def _holds(token: Token, visit: Visit) -> bool:
    return token.revoked_at is None and token.expires_at > visit.now
