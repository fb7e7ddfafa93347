"""Chat: the executive in the browser. A person's conversations here go on; those of other channels are there to read,
as far as the person was there; both are searched together.

The channel behind it is handed in as `Pages`; without one, nothing can be said and the rest stands.
"""

from __future__ import annotations

import re
import secrets

import sqlalchemy as sa
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from bot.files.names import clean_name
from bot.gateway.channel import Accepted
from bot.gateway.operations import Ask, Send
from bot.gateway.pages import Account, Pages, UnknownChatError, Written, shown_at
from bot.intake import spoken
from bot.kernel.clock import Clock
from bot.kernel.ids import BlobHash, InboxId, OutboxId
from bot.outbox import answers
from bot.people import store as people
from bot.people.model import Handle, Origin, Person
from bot.sessions import own
from bot.storage.database import Database, Tx
from bot.web.console import conversation
from bot.web.console.chat_lists import Chats, Entries, Lists
from bot.web.console.chat_stream import stream
from bot.web.console.files import Arriving, pieces
from bot.web.console.hub import Hub
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, NotSignedIn, Visit, Visitors, number
from bot.web.refusals import Refusal, UnknownThingError

BESIDE = 12
"""Conversations in the list beside one."""


class ChatPage:
    def __init__(
        self, database: Database, clock: Clock, hub: Hub, visitors: Visitors, chats: Chats, arriving: Arriving
    ) -> None:
        self._arriving = arriving
        self._database = database
        self._clock = clock
        self._hub = hub
        self._visitors = visitors
        self._chats = chats
        self._lists = Lists(database, chats)
        self._linked: set[str] = set()

    def routes(self, site: Site) -> list[Route]:
        read = self._lists.routes(site)
        if self._chats.pages is None:
            return read
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
            site.page(f"{one}/file/{{row}}/{{number}}", self.file),
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

        return stream(listening, self._hub.listen(visit.person.id), self._clock, still_in)

    async def _page(self, visit: Visit, chat: str, told: str | None = None) -> Page:
        thread, before = self._thread(visit, chat), visit.asked("before") or None

        def query(connection: sa.Connection) -> tuple[conversation.Read, Entries]:
            session = own.of_thread(connection, visit.scope, thread)
            found = conversation.read(connection, visit.scope, session, thread, before)
            return found, self._lists.newest(connection, visit, BESIDE)

        found, beside = await self._database.read(query, long=True)
        values: dict[str, object] = {
            "chat": chat,
            "lines": await conversation.drawn(found, chat),
            "more": found.more,
            "before": before,
            "told": told,
            "beside": beside,
            "message_id": secrets.token_urlsafe(12),
            "largest": self._chats.largest,
        }
        return Page("chat/chat.html", values, "rows")

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
        place = number(params["number"])
        name, blob = files[place] if place is not None and place < len(files) else ("", None)
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
        with self._arriving.one(visit.person.id):
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
