"""Pages as routes: who asks, whether they may post, what they are shown, and every refusal as a page of its own.

A page is a function of a `Visit` that returns a `Page` (a template and its values), `Moved` (after something was done),
or a response of its own. It raises what the rooms raise; `bot.web.refusals` says what that means. Nothing here decides
what a person may see: pages read under the visit's scope.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from urllib.parse import parse_qsl, quote

from jinja2 import Environment
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.web.console.visits import CSRF_FIELD, CSRF_HEADER, NOTICE, Notice, NotSignedIn, Refuse, Visit, Visitors
from bot.web.hooks import BodyRefusedError, read_body
from bot.web.refusals import Refusal, UnknownThingError, answered

SIGN_IN = "/sign-in"
FORM_LIMIT = 256 << 10
"""Bytes of a posted form. Files come by ways of their own."""
FORM_FIELDS = 1_000
LONGEST_PATH = 2_000
"""Characters of a path that a browser is led to."""
TOO_MUCH = "That is too much at once, or came too slowly."
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Of pages: nothing inline, nothing from elsewhere (CSP level 3)."""
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
"""Without a referrer of their own, forms would be posted with `Origin: null` (Fetch, s3.1), which is nobody's."""


@dataclass(frozen=True, slots=True)
class Page:
    """`template` below `templates/`. `part` is the block of it that htmx is given in place of the whole page."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    part: str | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Moved:
    """Go to a path of this site; what was done stands on the page there."""

    to: str
    notice: Notice | None = None


Answer = Page | Moved | Response
Handler = Callable[[Visit], Awaitable[Answer]]


class Site:
    def __init__(self, visitors: Visitors, clock: Clock, templates: Environment, on_refused: Refuse) -> None:
        self.visitors = visitors
        self._clock = clock
        self._templates = templates
        self._on_refused = on_refused

    def page(self, path: str, handler: Handler, *, method: str = "GET", raw: bool = False) -> Route:
        """A route for people who are signed in. `raw`: the handler reads the body itself, within bounds of its own; the
        guard of forms then stands in the header `x-csrf`."""

        async def endpoint(request: Request) -> Response:
            found = await self.visitors.of(request)
            if isinstance(found, NotSignedIn):
                return self._turned_away(request, found)
            person, browser = found
            visit = Visit(request, person, browser, self.visitors.csrf(browser), self._clock.now(), FormData())
            try:
                if request.method not in ("GET", "HEAD"):
                    visit = await self._guarded(visit, raw)
                response = await answered(self._answer(visit, handler), f"console {request.method} {path}")
            except Refusal as refused:
                response = self._refused(visit, refused)
            if not visit.partial:
                await self.visitors.refresh(browser, response)
            return response

        return Route(path, endpoint, methods=[method])

    def open(self, path: str, handler: Callable[[Request], Awaitable[Response]], *, method: str = "GET") -> Route:
        """A route for anybody."""

        async def endpoint(request: Request) -> Response:
            try:
                return await answered(handler(request), f"console {request.method} {path}")
            except Refusal as refused:
                self._tell(refused.reason)
                return self.bare("refused.html", {"status": refused.status, "message": refused.message}, refused.status)

        return Route(path, endpoint, methods=[method])

    def nothing(self) -> Route:
        """The last route: whatever else is asked for is not there."""

        async def handler(visit: Visit) -> Answer:
            raise UnknownThingError("There is no such page.")

        return self.page("/{rest:path}", handler)

    def bare(self, template: str, values: Mapping[str, object], status: int = 200) -> Response:
        """A page outside the console: for people who are not signed in."""
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status, HEADERS)

    async def form(self, request: Request) -> FormData:
        """Raises `Refusal`."""
        try:
            body = await read_body(request, FORM_LIMIT)
            pairs: list[tuple[str, str | UploadFile]] = []
            pairs += parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=False, max_num_fields=FORM_FIELDS)
        except BodyRefusedError as refused:
            raise Refusal(
                refused.status, refused.reason, "That is too much, or came too slowly.", refused.reason
            ) from refused
        except ValueError as error:
            raise Refusal(400, "bad_form", "This form cannot be read.", "bad_form") from error
        return FormData(pairs)

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _answer(self, visit: Visit, handler: Handler) -> Response:
        return self._shown(visit, await handler(visit))

    async def _guarded(self, visit: Visit, raw: bool) -> Visit:
        form = FormData() if raw else await self.form(visit.request)
        given = visit.request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD)
        if not isinstance(given, str) or not self.visitors.same(visit.browser, given):
            raise Refusal(403, "bad_csrf", "This form is not from your session: load the page again.", "bad_csrf")
        return Visit(visit.request, visit.person, visit.browser, visit.csrf, visit.now, form)

    def _shown(self, visit: Visit, answer: Answer) -> Response:
        if isinstance(answer, Response):
            for name, value in HEADERS.items():
                answer.headers.setdefault(name, value)
            return answer
        if isinstance(answer, Moved):
            response = self._moved(visit, answer.to)
            if answer.notice is not None:
                self.visitors.leave(visit.browser, response, answer.notice)
            return response
        return self._rendered(visit, answer)

    def _rendered(self, visit: Visit, page: Page) -> Response:
        template = self._templates.get_template(page.template)
        whole = not visit.partial or page.part is None
        notice = self.visitors.left(visit.browser, visit.request) if whole else None
        values = {
            **page.values,
            "person": visit.person,
            "csrf": visit.csrf,
            "path": visit.request.url.path,
            "now": visit.now,
            "notice": notice,
        }
        if whole:
            text = template.render(values)
        else:
            context = template.new_context(values)
            text = "".join(template.blocks[page.part or ""](context))
        headers = {**HEADERS, "Vary": "HX-Request"}
        response = HTMLResponse(text, page.status, headers)
        if notice is not None:
            self.visitors.set(response, NOTICE, "", 0)
        return response

    def _moved(self, visit: Visit, to: str) -> Response:
        if visit.partial:
            return Response("", 200, {**HEADERS, "HX-Location": _written(to)})
        return RedirectResponse(to, 303, HEADERS)

    def _refused(self, visit: Visit, refused: Refusal) -> Response:
        self._tell(refused.reason)
        values = {"status": refused.status, "message": refused.message}
        response = self._rendered(visit, Page("error.html", values, "trouble", refused.status))
        if visit.partial:  # beside what was clicked, not in its place
            response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#trouble", "innerHTML"
        return response

    def _turned_away(self, request: Request, why: NotSignedIn) -> Response:
        self._tell("not_signed_in" if why.had is None else f"session_{why.had.value}")
        there = request.url.path if request.method == "GET" and "hx-request" not in request.headers else "/"
        query = f"?{request.url.query}" if request.url.query and there != "/" else ""
        to = SIGN_IN if there == "/" else f"{SIGN_IN}?next={quote(there + query, safe='')}"
        if "hx-request" in request.headers:
            response = Response("", 401, {"HX-Redirect": SIGN_IN})
        elif request.method == "GET":
            response = RedirectResponse(to, 303)
        else:
            response = self.bare("refused.html", {"status": 401, "message": "You are not signed in any more."}, 401)
        if why.had is not None:
            self.visitors.forget(response)
        return response

    def _tell(self, reason: str | None) -> None:
        if reason is not None:
            self._on_refused(f"web_{reason}")


def own_path(wanted: str) -> str:
    """A path of this site that somebody wants to be led to, as it is written in headers; "/" for anything else.
    "//host" and backslashes lead elsewhere in browsers, and what is very long is refused by proxies."""
    plain = wanted.isprintable() and "\\" not in wanted and len(wanted) <= LONGEST_PATH
    return _written(wanted) if plain and wanted.startswith("/") and not wanted.startswith("//") else "/"


def _written(path: str) -> str:
    """In ASCII (RFC 3987, section 3.1); what is escaped already stays."""
    return quote(path, safe="%/?#[]@!$&'()*+,;:=")


Routes = Sequence[Route]
