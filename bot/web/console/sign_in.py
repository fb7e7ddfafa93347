"""The door of the console: asking for a one-time link, using it, and going out again.

Looking at a link does nothing (mail programs and chats fetch links to preview them); the button on its page uses it up.
A link that somebody asked for holds only in the browser in which they asked. Whoever asks is told the same whether
there is such a person or not.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable

import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import PersonId
from bot.people import browsers
from bot.people import store as people
from bot.people.model import Handle
from bot.storage.database import Database
from bot.web.console.site import SIGN_IN, Moved, Site, own_path
from bot.web.console.visits import CSRF_FIELD, Notice, NotSignedIn, Visit
from bot.web.hosts import asker
from bot.web.rates import Rates
from bot.web.refusals import Refusal

log = logging.getLogger(__name__)

ASKING = "oe_asking"
"""Cookie of a browser that asks for a link, or looks at one. Its value stands in the form of the page too."""
NEXT = "oe_next"
"""Cookie: where it wanted to go."""
PER_ADDRESS, PER_ACCOUNT = 30, 3
"""Tries of one network address, and links for one account, in `WINDOW`."""
WINDOW = 600.0
"""Seconds."""
KEPT = 900
"""Seconds that a browser's asking is remembered: longer than a link holds."""
SENT = "If the executive knows this account, a link is on its way to it. Open it in this browser, within ten minutes."
NO_LINKS = "No link leaves this machine: use `openexecutive console` there."
WHY = {
    browsers.Refused.UNKNOWN: "This link is not known. Ask for a new one.",
    browsers.Refused.ENDED: "This link was used already. Ask for a new one.",
    browsers.Refused.EXPIRED: "This link is older than ten minutes. Ask for a new one.",
    browsers.Refused.DEACTIVATED: "This account is not active any more.",
    browsers.Refused.OTHER_BROWSER: "This link was asked for in another browser, and holds only there.",
}

SendLink = Callable[[str, str, str], Awaitable[None]]
"""Say a link (its path) at an account: channel, address, path. Raises `TransientError` and `PermanentError`."""


class SignIn:
    """`send`: how a link reaches its person; None where none may leave this machine."""

    def __init__(self, database: Database, recorder: Recorder, clock: Clock, site: Site, send: SendLink | None) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._site = site
        self._send = send
        self._by_address = Rates(PER_ADDRESS, WINDOW, clock)
        self._by_account = Rates(PER_ACCOUNT, WINDOW, clock)

    def routes(self) -> list[Route]:
        return [
            self._site.open(SIGN_IN, self.door),
            self._site.open(SIGN_IN, self.ask, method="POST"),
            self._site.open(f"{SIGN_IN}/{{link}}", self.look),
            self._site.open(f"{SIGN_IN}/{{link}}", self.use, method="POST"),
            self._site.page("/sign-out", self.out, method="POST"),
            self._site.page("/sign-out-everywhere", self.out_everywhere, method="POST"),
        ]

    # --- in --------------------------------------------------------------------------------------------------------

    async def door(self, request: Request) -> Response:
        wanted = own_path(request.query_params.get("next", "/"))
        if not isinstance(await self._site.visitors.of(request), NotSignedIn):
            return RedirectResponse(wanted, 303)
        response, asking = self._with_form(request, {"said": None, "account": ""})
        self._site.visitors.set(response, ASKING, asking, KEPT)
        self._site.visitors.set(response, NEXT, wanted, KEPT)
        return response

    async def ask(self, request: Request) -> Response:
        """A link for the account that was named, if it is known; the answer is the same if it is not."""
        self._bounded(request)
        form = await self._site.form(request)
        asking = self._same_browser(request, form.get(CSRF_FIELD))
        if self._send is None:
            raise Refusal(
                403, "no_links", "No link leaves this machine: use `openexecutive console` there.", "no_links"
            )
        account = " ".join(str(form.get("account", "")).split())
        if account and not self._by_account.wait(account.lower()):
            self._by_account.count(account.lower())
            await self._sent(account, asking)
        return self._with_form(request, {"said": SENT, "account": account})[0]

    async def look(self, request: Request) -> Response:
        """What the link would do. It stays as it is, however often it is looked at."""
        link, asking = request.path_params["link"], self._site.visitors.held(request, ASKING)
        now = self._clock.now()
        found = await self._database.read(lambda c: browsers.look(c, link, asking, now))
        if isinstance(found, browsers.Refused):
            raise self._refused(request, found)
        held = asking or secrets.token_urlsafe(32)
        response = self._site.bare("enter.html", {"name": found.name, "link": link, "csrf": held})
        self._site.visitors.set(response, ASKING, held, KEPT)
        return response

    async def use(self, request: Request) -> Response:
        self._bounded(request)
        form = await self._site.form(request)
        asking = self._same_browser(request, form.get(CSRF_FIELD))
        link, label, now = request.path_params["link"], _label(request), self._clock.now()
        found = await self._database.write(lambda tx: browsers.consume(tx, self._recorder, link, asking, label, now))
        if isinstance(found, browsers.Refused):
            raise self._refused(request, found)
        response = RedirectResponse(own_path(self._site.visitors.held(request, NEXT) or "/"), 303)
        for name in (ASKING, NEXT):
            self._site.visitors.set(response, name, "", 0)
        self._site.visitors.remember(response, found[1])
        return response

    # --- out -------------------------------------------------------------------------------------------------------

    async def out(self, visit: Visit) -> Response | Moved:
        """This browser, or the one of the person's own that the form names."""
        chosen = visit.field("browser") or visit.browser.id
        await self._end(visit, chosen)
        if chosen == visit.browser.id:
            return self._left()
        return Moved("/settings/access", Notice("That browser is signed out."))

    async def out_everywhere(self, visit: Visit) -> Response:
        await self._end(visit, None)
        return self._left()

    async def _end(self, visit: Visit, browser: str | None) -> None:
        person, actor = visit.person.id, Actor("person", visit.person.id)
        await self._database.write(
            lambda tx: browsers.end(tx, self._recorder, person, browser, actor, self._clock.now())
        )

    def _left(self) -> Response:
        response = RedirectResponse(SIGN_IN, 303)
        self._site.visitors.forget(response)
        return response

    # --- inside ----------------------------------------------------------------------------------------------------

    def _bounded(self, request: Request) -> None:
        peer = asker(request.client.host if request.client is not None else "", request.headers.get("x-forwarded-for"))
        if self._by_address.wait(peer):
            raise Refusal(429, "too_many", "Too many tries from here: wait a few minutes.", "sign_in_too_many")
        self._by_address.count(peer)

    def _same_browser(self, request: Request, given: object) -> str:
        """A page elsewhere can post this form, but neither read nor set the cookie that it has to agree with."""
        held = self._site.visitors.held(request, ASKING)
        if held is None or not isinstance(given, str) or not hmac.compare_digest(held.encode(), given.encode()):
            raise Refusal(403, "bad_csrf", "Load the page again: cookies have to be allowed for it.", "bad_csrf")
        return held

    async def _sent(self, account: str, asking: str) -> None:
        assert self._send is not None  # noqa: S101 - for the type checker
        found = await self._database.read(lambda c: _accounts(c, account))
        for person, handle in found:
            link = await self._database.write(
                lambda tx, person=person: browsers.make_link(tx, person, asking, self._clock.now())  # type: ignore[misc]
            )
            try:
                await self._send(handle.channel, handle.address, f"{SIGN_IN}/{link}")
            except (TransientError, PermanentError) as error:
                log.info("a sign-in link could not be said on %s: %s", handle.channel, error.message)
                continue
            return

    def _with_form(self, request: Request, values: dict[str, object]) -> tuple[Response, str]:
        asking = self._site.visitors.held(request, ASKING) or secrets.token_urlsafe(32)
        return self._site.bare("sign_in.html", {**values, "csrf": asking, "links": self._send is not None}), asking

    def _refused(self, request: Request, why: browsers.Refused) -> Refusal:
        if why is browsers.Refused.UNKNOWN:
            self._bounded(request)
        return Refusal(403, "bad_link", WHY[why], f"link_{why.value}")


def _accounts(connection: sa.Connection, account: str) -> list[tuple[PersonId, Handle]]:
    """The active person whose account on any channel is named, and then where else they can be reached."""
    named = account.lower().removeprefix("@")
    for person in people.everyone(connection):
        if not person.active or not person.named:
            continue
        handles = sorted(person.handles, key=lambda each: (each.address.lower() != named, each.channel, each.address))
        if person.id.lower() == named or any(each.address.lower() == named for each in handles):
            return [(person.id, each) for each in handles]
    return []


def _label(request: Request) -> str:
    return request.headers.get("user-agent", "a browser")
