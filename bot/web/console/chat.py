"""Chat: the executive in the browser. A person's conversations here go on; those of other channels are there to read,
as far as the person was there; both are searched together.

The channel behind it is handed in as `Pages`; without one, nothing can be said and the rest stands.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping

import sqlalchemy as sa
from markupsafe import Markup
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from bot.files.blobs import BlobFolder
from bot.files.names import clean_name
from bot.gateway.channel import Accepted
from bot.gateway.operations import Ask, OutboundOp, Send
from bot.gateway.pages import Account, Pages, UnknownChatError, Written, shown_at
from bot.intake import spoken
from bot.kernel.clock import Clock
from bot.kernel.ids import BlobHash, InboxId, MessageId, OutboxId, SessionId
from bot.kernel.values import dataclass
from bot.outbox import answers
from bot.people import store as people
from bot.people.model import Handle, Origin, Person
from bot.retrieval.fulltext import plain, words
from bot.sessions import own
from bot.storage.database import Database, Tx
from bot.web.console import conversation
from bot.web.console.chat_stream import stream
from bot.web.console.conversation import formatted, without_marks
from bot.web.console.files import pieces
from bot.web.console.live import Hub
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, NotSignedIn, Visit, Visitors
from bot.web.refusals import Refusal, UnknownThingError

BESIDE = 12
"""Conversations in the list beside one."""
LISTED = 30
FOUND = 20
READ = 40
"""Messages of a conversation of another channel, on a page."""
LONGEST = 300
"""Characters of a question."""
AROUND = 120
"""Characters before and after the first word that was found."""


@dataclass(frozen=True, slots=True)
class Chats:
    pages: Pages | None
    """None where the chat is off."""
    name: str
    """Of its channel."""
    dress: Callable[[OutboundOp], OutboundOp]
    """A question as it leaves, with the codes of its buttons."""
    blobs: BlobFolder
    largest: int
    """Bytes of a file that is sent along."""
    bring: Callable[[], Awaitable[object]]
    """Have what was said lately be found."""


class ChatPage:
    def __init__(self, database: Database, clock: Clock, hub: Hub, visitors: Visitors, chats: Chats) -> None:
        self._database = database
        self._clock = clock
        self._hub = hub
        self._visitors = visitors
        self._chats = chats
        self._linked: set[str] = set()

    def routes(self, site: Site) -> list[Route]:
        read = [
            site.page("/chat/all", self.listed),
            site.page("/chat/session/{session}", self.of_session),
        ]
        if self._chats.pages is None:
            return [site.page("/chat", self.listed), *read]
        one = "/chat/{chat}"
        return [
            site.page("/chat", self.latest),
            *read,
            site.page("/chat/new", self.new),
            site.page(one, self.show),
            site.page(f"{one}/stream", self.stream),
            site.page(f"{one}/say", self.say, method="POST"),
            site.page(f"{one}/stop", self.stop, method="POST"),
            site.page(f"{one}/press", self.press, method="POST"),
            site.page(f"{one}/upload", self.upload, method="POST", raw=True),
            site.page(f"{one}/file/{{row}}/{{number:int}}", self.file),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def latest(self, visit: Visit) -> Page:
        """Where the person wrote last; a new one if they never did."""
        chat = await self._pages.current((await self._account(visit)).id)
        return await self._page(visit, chat)

    async def new(self, visit: Visit) -> Page:
        return await self._page(visit, self._pages.begin((await self._account(visit)).id))

    async def show(self, visit: Visit) -> Page:
        return await self._page(visit, visit.request.path_params["chat"])

    async def stream(self, visit: Visit) -> Response:
        chat = visit.request.path_params["chat"]
        self._thread(visit, chat)
        listening = self._pages.listen(visit.person.id, chat)
        if listening is None:
            return Response("", 503, {"Retry-After": "60"})

        async def still_in() -> bool:
            return not isinstance(await self._visitors.of(visit.request), NotSignedIn)

        return stream(listening, self._hub.listen(), self._clock, still_in)

    async def _page(self, visit: Visit, chat: str, told: str | None = None) -> Page:
        thread, before = self._thread(visit, chat), visit.asked("before") or None

        def query(connection: sa.Connection) -> tuple[conversation.Read, list[own.Own]]:
            session = own.of_thread(connection, visit.scope, thread)
            found = conversation.read(connection, visit.scope, session, thread, before)
            return found, own.sessions(connection, visit.scope, BESIDE)

        found, beside = await self._database.read(query, long=True)
        values: dict[str, object] = {
            "chat": chat,
            "lines": await conversation.drawn(found, chat),
            "more": found.more,
            "before": before,
            "told": told,
            "beside": [self._entry(each) for each in beside],
            "message_id": secrets.token_urlsafe(12),
            "largest": self._chats.largest,
        }
        return Page("chat/chat.html", values, "rows")

    async def listed(self, visit: Visit) -> Page:
        """All conversations of the person; or with words, what was said in them."""
        asked, before = visit.asked("q")[:LONGEST], visit.asked("before")
        values: dict[str, object] = {"asked": asked, "on": self._chats.pages is not None, "found": None, "more": None}
        if asked:
            await self._chats.bring()
            key = int(before) if before.isascii() and before.isdigit() else None
            hits = await self._database.read(lambda c: own.find(c, visit.scope, asked, FOUND, key), long=True)
            values["found"] = [self._hit(each, asked) for each in hits.passages]
            values["more"] = hits.more
            values["sessions_listed"] = []
        else:
            found = await self._database.read(
                lambda c: own.sessions(c, visit.scope, LISTED + 1, before or None), long=True
            )
            values["sessions_listed"] = [self._entry(each) for each in found[:LISTED]]
            values["more"] = found[LISTED - 1].newest if len(found) > LISTED else None
        return Page("chat/all.html", values, "rows")

    async def of_session(self, visit: Visit) -> Page:
        """A conversation of any channel, to read."""
        wanted = SessionId(visit.request.path_params["session"])
        at = visit.asked("at")
        before = MessageId(at or visit.asked("before")) if at or visit.asked("before") else None

        def query(connection: sa.Connection) -> Mapping[str, object] | None:
            of = own.get(connection, visit.scope, wanted)
            if of is None:
                return None
            said = own.said_in(connection, visit.scope, wanted, READ + 1, before, itself=bool(at))
            shown = said[:READ][::-1]
            return {"of": self._entry(of), "said": shown, "more": len(said) > READ, "before": before, "found": at}

        found = await self._database.read(query)
        if found is None:
            raise UnknownThingError("There is no such conversation.")
        return Page("chat/session.html", {**found, "here": f"/chat/session/{wanted}", "formatted": formatted})

    async def file(self, visit: Visit) -> Response:
        """A file of either side. It is handed over to be kept, never shown: whatever it is, it does not run here."""
        params = visit.request.path_params
        thread = self._thread(visit, params["chat"])

        def query(connection: sa.Connection) -> list[tuple[str, BlobHash | None]]:
            session = own.of_thread(connection, visit.scope, thread)
            wrote = spoken.one(connection, visit.scope, session, InboxId(params["row"])) if session else None
            if wrote is not None:
                return [(each.name, each.blob) for each in wrote.files]
            op = answers.one(connection, visit.scope, thread, OutboxId(params["row"]))
            return [(each.name, each.blob) for each in op.files] if isinstance(op, Send) else []

        files = await self._database.read(query)
        name, blob = files[params["number"]] if params["number"] < len(files) else ("", None)
        if blob is None or not await self._chats.blobs.exists(blob):
            raise UnknownThingError("There is no such file.")
        kept = await self._chats.blobs.inspect(blob)
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
        return FileResponse(
            kept.path, 200, headers, "application/octet-stream", filename=clean_name(name),
            content_disposition_type="attachment",
        )  # fmt: skip

    # --- doing -----------------------------------------------------------------------------------------------------

    async def say(self, visit: Visit) -> Page | Moved:
        written = Written(visit.field("id"), visit.field("text"), visit.fields("file"))
        return await self._said(visit, written)

    async def stop(self, visit: Visit) -> Page | Moved:
        return await self._said(visit, Written(secrets.token_urlsafe(12), "/stop"))

    async def _said(self, visit: Visit, written: Written) -> Page | Moved:
        chat = visit.request.path_params["chat"]
        self._thread(visit, chat)
        answer = await self._pages.say(await self._account(visit), chat, written)
        if answer not in (Accepted.NEW, Accepted.DUPLICATE):
            raise Refusal(403, "not_allowed", "You may not write to the executive.", "not_allowed")
        return await self._page(visit, chat) if visit.partial else Moved(f"/chat/{chat}")

    async def press(self, visit: Visit) -> Page | Moved:
        chat, row, number = visit.request.path_params["chat"], OutboxId(visit.field("row")), visit.field("choice")
        thread = self._thread(visit, chat)
        op = await self._database.read(lambda c: answers.one(c, visit.scope, thread, row))
        choices = self._chats.dress(op).choices if isinstance(op, Ask) else ()  # type: ignore[union-attr]
        if not isinstance(op, Ask) or not re.fullmatch("[0-9]", number) or int(number) >= len(choices):
            raise UnknownThingError("There is no such button.")
        token = choices[int(number)].token
        told = await self._pages.press(
            await self._account(visit), chat, shown_at(op.path, row), token, visit.field("id")
        )  # fmt: skip
        if visit.partial:
            return await self._page(visit, chat, told)
        return Moved(f"/chat/{chat}", None if told is None else Notice(told))

    async def upload(self, visit: Visit) -> Response:
        """The body is the file. What is answered stands for it in the message that it will go with."""
        chat, name = visit.request.path_params["chat"], clean_name(visit.asked("name"))
        self._thread(visit, chat)
        kept = await self._pages.upload(visit.person.id, chat, name, pieces(visit.request))
        return JSONResponse({"handle": kept.handle, "name": kept.name, "size": kept.size})

    # --- inside ----------------------------------------------------------------------------------------------------

    @property
    def _pages(self) -> Pages:
        assert self._chats.pages is not None  # noqa: S101 - routes that need it are not there without it
        return self._chats.pages

    def _thread(self, visit: Visit, chat: str) -> str:
        try:
            return self._pages.thread(visit.person.id, chat)
        except UnknownChatError as error:
            raise UnknownThingError(error.message) from error

    async def _account(self, visit: Visit) -> Account:
        """The person's account here is their id; who does not come from settings gets it with their first visit."""
        person = visit.person
        if person.id not in self._linked:
            await self._database.write(lambda tx: self._link(tx, person, visit))
            self._linked.add(person.id)
        return Account(person.id, person.name)

    def _link(self, tx: Tx, person: Person, visit: Visit) -> None:
        if people.by_handle(tx.connection, self._chats.name, [person.id]).get(person.id) is None:
            people.add_handle(tx, person.id, Handle(self._chats.name, person.id, Origin.PAIRED), visit.now)

    def _entry(self, of: own.Own) -> Mapping[str, object]:
        here = of.channel == self._chats.name
        first = (of.begins or "").partition("\n")[0]
        two = "Conversation" if here else "Direct conversation"
        title = first if (here or not of.title) and first else of.title or two
        to = f"/chat/{of.thread.partition(':')[2]}" if here and self._chats.pages else f"/chat/session/{of.id}"
        named, channel = title != two, None if here else of.channel
        return {"title": title, "named": named, "path": to, "channel": channel, "at": of.at}

    def _hit(self, of: own.Passage, asked: str) -> Mapping[str, object]:
        text = of.said.body.text
        return {
            "path": f"/chat/session/{of.session}?at={of.said.id}#m-{of.said.id}",
            "speaker": of.said.speaker or "The executive",
            "channel": of.channel,
            "place": of.place,
            "at": of.said.sent_at,
            "text": marked(text if of.said.role == "user" else without_marks(text), asked),
        }


def marked(text: str, asked: str) -> Markup:
    """The part of a text in which the first of the words stands, with all of them marked."""
    wanted = words(asked)
    folded = plain(text)
    if len(folded) != len(text):  # accents were several characters: then nothing is marked
        return Markup.escape(text[: 2 * AROUND])
    starts = [match for each in wanted for match in re.finditer(rf"\b{re.escape(each)}", folded)]
    begin = max(0, min((match.start() for match in starts), default=0) - AROUND)
    end = min(len(text), begin + 3 * AROUND)
    out = Markup.escape("… " if begin else "")
    done = begin
    for match in sorted(starts, key=lambda one: one.start()):
        if match.start() < done or match.end() > end:
            continue
        out += Markup("{}<mark>{}</mark>").format(text[done : match.start()], text[match.start() : match.end()])
        done = match.end()
    return out + text[done:end] + ("…" if end < len(text) else "")
