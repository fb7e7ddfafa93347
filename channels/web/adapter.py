"""The channel: what people do in pages, and what is sent into their conversations."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from bot.gateway.channel import Accepted, ChannelContext, Cursor, Health, HttpRoute, Inbox, LocalHandler, NotReadyError
from bot.gateway.events import Attachment, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import Ask, Delete, Edit, Found, NotSent, OutboundOp, Receipt, Reply, Send
from bot.gateway.pages import Account, Drafted, Erased, Listening, Sent, Uploaded, Written, shown_at
from bot.gateway.text import parse
from bot.gateway.text_layout import plain
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from channels.web import mapping
from channels.web.listening import Listeners
from channels.web.mapping import LONGEST_NAME, MOST_FILES, NAME

ANSWERED_WITHIN = 10.0
"""Seconds that a page waits for what is said to a press."""


class WebChannel:
    """Implements `Channel` and `bot.gateway.pages.Pages`."""

    name = NAME

    def __init__(self, context: ChannelContext, max_upload: int) -> None:
        self._context = context
        self._max_upload = max_upload
        self._inbox: Inbox | None = None
        self._listeners = Listeners()
        self._pressed: dict[str, asyncio.Future[str]] = {}

    @property
    def placeholder(self) -> None:
        """Drafts have a form of their own."""
        return

    @property
    def has_buttons(self) -> bool:
        return True

    @property
    def form_fields(self) -> int:
        """None: where somebody may change a proposal there is a page of its own for it."""
        return 0

    # --- in --------------------------------------------------------------------------------------------------------

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._context.ready()
        try:
            await asyncio.Event().wait()
        finally:
            self._inbox = None  # what is still said is asked for again after the restart
            self._listeners.end()

    def begin(self, account: str) -> str:
        return mapping.chat_of(self._context.secret, account, secrets.token_bytes(8))

    def first(self, account: str) -> str:
        return mapping.home(self._context.secret, account)

    def thread(self, account: str, chat: str) -> str:
        return mapping.thread_key(self._context.secret, account, chat)

    async def current(self, account: str) -> str:
        last = await self._receiving().cursor(_last(account))
        if last is None or not mapping.is_of(self._context.secret, account, last):
            return self.first(account)
        return last

    async def say(self, account: Account, chat: str, written: Written) -> Accepted:
        thread = self.thread(account.id, chat)
        if len(written.files) > MOST_FILES:
            raise PermanentError(f"At most {MOST_FILES} files are taken at once.")
        files = [mapping.attachment(self._context.secret, thread, each) for each in written.files]
        said = mapping.event(account, thread, written, files, self._context.clock.now())
        (answer,) = await self._receiving().accept([said], Cursor(_last(account.id), chat))
        return answer

    async def press(self, account: Account, chat: str, ref: str, token: str, press: str) -> str | None:
        thread, response = self.thread(account.id, chat), secrets.token_hex(8)
        event = mapping.pressed(account, thread, ref, token, press, response, self._context.clock.now())
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pressed[response] = told
        try:
            (answer,) = await self._receiving().accept([event])
            if answer is not Accepted.NEW:
                return None
            async with asyncio.timeout(ANSWERED_WITHIN):
                return await told
        except TimeoutError:
            return None
        finally:
            del self._pressed[response]

    async def upload(self, account: str, chat: str, name: str, chunks: AsyncIterator[bytes]) -> Uploaded:
        thread = self.thread(account, chat)
        size = 0

        async def counted() -> AsyncIterator[bytes]:
            nonlocal size
            async for chunk in chunks:
                size += len(chunk)
                yield chunk

        blob = await self._context.files.put(counted(), self._max_upload)
        name = name[:LONGEST_NAME] or "file"
        return Uploaded(mapping.sign(self._context.secret, thread, name, blob, size), name, size)

    def listen(self, account: str, chat: str) -> Listening | None:
        thread = self.thread(account, chat)
        return None if self._inbox is None else self._listeners.add(account, thread)

    def _receiving(self) -> Inbox:
        if self._inbox is None:
            raise NotReadyError("The executive is starting or stopping: say it again in a moment.")
        return self._inbox

    # --- out -------------------------------------------------------------------------------------------------------

    async def direct(self, address: str) -> ReplyPath:
        if not await self._receiving().is_known(address):
            raise PermanentError(f"{address} is nobody who could sign in")
        return ReplyPath(self.thread(address, await self.current(address)), address)

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        """One message, kept as Markdown: the page makes of it what it shows."""
        return (Send(reply.path, reply.markdown, plain(parse(reply.markdown)), reply.files),)

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        """Its row is what the page shows. Doing it again is doing it once."""
        if not isinstance(op, Send | Ask | Edit | Delete):
            raise PermanentError(f"a page cannot do this: {op.kind}")
        self._listeners.tell(op.path.thread, Sent(key, op))
        return Receipt(shown_at(op.path, key), self._context.clock.now())

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """Whatever came of it: to tell the open pages again does no harm."""
        return NotSent()

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        self._listeners.tell(path.thread, Drafted(turn, text))

    async def respond(self, response: str, answer: str | Form) -> None:
        if isinstance(answer, Form):
            raise PermanentError("a page of this channel shows no forms")
        waiting = self._pressed.get(response)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        """What is erased from the store is in no page any more; open ones are told."""
        self._listeners.tell(path.thread, Erased(ref))
        return True

    # --- the rest of the port ----------------------------------------------------------------------------------------

    async def fetch(self, attachment: Attachment) -> BlobHash:
        raise PermanentError("the page has not brought this file along")

    def health(self) -> Health:
        if self._inbox is None:
            return Health(False, "it is starting or stopping")
        return Health(True)

    def routes(self) -> Sequence[HttpRoute]:
        """None: its pages are the console's."""
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        self._listeners.end()


def _last(account: str) -> str:
    """Name of the cursor that holds where the account wrote last."""
    return f"chat:{account}"
