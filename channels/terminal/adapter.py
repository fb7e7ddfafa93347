"""The channel: conversations over the socket, and what is sent into them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from bot.gateway.channel import (
    Accepted,
    ChannelContext,
    Health,
    HttpRoute,
    Inbox,
    LocalHandler,
    LocalPeer,
    NotReadyError,
)
from bot.gateway.events import Attachment, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import CannotTell, Found, NotSent, OutboundOp, Receipt, Reply, Send
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from bot.kernel.supervise import cancel, start
from channels.terminal import render
from channels.terminal.attached import Attached, Client
from channels.terminal.mapping import NAME, Ack, Say, answers, event, read, read_hello, thread_key

ACK_WITHIN = 30.0
"""Seconds until a client that does not say that it has shown a message is cut off, so that it comes back and tells."""
RETURN_WITHIN = 3.0
"""Seconds that clients which may have seen a message have to come back after a cut."""


class TerminalChannel:
    name = NAME

    def __init__(self, context: ChannelContext, person: str) -> None:
        self._context = context
        self._person = person
        self._inbox: Inbox | None = None
        self._attached = Attached()

    @property
    def placeholder(self) -> None:
        """Drafts have a form of their own."""
        return

    @property
    def has_buttons(self) -> bool:
        return False

    @property
    def form_fields(self) -> int:
        return 0

    async def direct(self, address: str) -> ReplyPath:
        """The person's main thread; whoever does not speak here cannot be reached here."""
        if address != self._person:
            raise PermanentError(f"{address} does not use the terminal")
        return ReplyPath(thread_key(address, "main"), address)

    # --- in --------------------------------------------------------------------------------------------------------

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        try:
            await asyncio.Event().wait()
        finally:
            self._inbox = None  # what is still said is asked for again after the restart

    def local(self) -> Mapping[str, LocalHandler]:
        return {"chat": self.chat}

    async def chat(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        """One connection of a client, from its hello to its end."""
        if not self._person:
            raise PermanentError("there is nobody to speak as: name a principal in the settings")
        hello = read_hello(first, self._person)
        client = Client(peer, hello.client, hello.thread)
        await peer.send(
            {"type": "hello", "thread": hello.thread, "person": self._person, "version": self._context.version}
        )
        self._attached.add(client, hello.shown)
        self._context.ready()
        listening = start(f"chat:{hello.thread}", self._listen(client))
        cut = start("chat-cut", client.cut.wait())
        try:
            await asyncio.wait({listening, cut}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                await listening
        finally:
            self._attached.remove(client)
            await cancel(listening)
            await cancel(cut)

    async def _listen(self, client: Client) -> None:
        while (message := await client.peer.receive()) is not None:
            match read(message):
                case Ack(key):
                    self._attached.acknowledge(key)
                case Say() as say:
                    await client.peer.send(await self._take(say, client))

    async def _take(self, say: Say, client: Client) -> Mapping[str, object]:
        """What came of something said. `accepted` is answered only once it is durable."""
        if not say.text.strip():
            return {"type": "refused", "id": say.id, "message": "an empty message says nothing"}
        if self._inbox is None:
            return {"type": "not_taken", "id": say.id, "message": "the daemon is starting or stopping"}
        said = event(say, client.thread, self._person, self._context.clock.now())
        try:
            (answer,) = await self._inbox.accept([said])
        except TransientError as error:
            return {"type": "not_taken", "id": say.id, "message": error.message}
        if answer in (Accepted.NEW, Accepted.DUPLICATE):
            return {"type": "accepted", "id": say.id}
        return {"type": "refused", "id": say.id, "message": f"{self._person} may not speak to the executive"}

    # --- out -------------------------------------------------------------------------------------------------------

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        return render.plan(reply)

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        """To every client of the thread; done when one of them has shown it."""
        if not isinstance(op, Send):
            raise PermanentError(f"a terminal cannot do this: {op.kind}")
        if self._attached.has_shown(key):
            return self._receipt(key)
        clients = self._attached.of(op.path.thread)
        if not clients:
            raise NotReadyError("no terminal is attached to this thread")
        re, alone = answers(op.path.ref)
        text = render.marked(op.text) if again else op.text
        message = {"type": "message", "key": key, "text": text, "re": re, "alone": alone}
        for client in clients:
            self._attached.handing(key, client)
            try:
                await client.peer.send(message)
            except TransientError:
                self._attached.remove(client)
        await self._shown(key, clients)
        return self._receipt(key)

    async def _shown(self, key: OutboxId, clients: Sequence[Client]) -> None:
        """Return once `key` is acknowledged. Raises `UncertainError` when none of `clients` can do that any more."""
        try:
            async with asyncio.timeout(ACK_WITHIN):
                while not self._attached.has_shown(key):
                    if all(client.cut.is_set() for client in clients):
                        raise UncertainError("the terminal went away while it was shown the message")
                    await self._attached.change()
        except TimeoutError as error:
            for client in clients:
                self._attached.remove(client)
            raise UncertainError("the terminal does not say that it has shown the message") from error

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """Asks the clients of the thread, who tell what they have shown when they connect; waits until one is there.

        Certain if one has shown it, or if all that it was handed to are back and have not.
        """
        while not self._attached.has_shown(key) and not self._attached.of(op.path.thread):
            await self._attached.change()
        try:
            async with asyncio.timeout(RETURN_WITHIN):
                while (answer := self._known(op.path.thread, key)) is None:
                    await self._attached.change()
        except TimeoutError:
            return CannotTell()
        return answer

    def _known(self, thread: str, key: OutboxId) -> Receipt | NotSent | None:
        if self._attached.has_shown(key):
            return self._receipt(key)
        holders = self._attached.holders(key)
        if holders is not None and holders <= {client.id for client in self._attached.of(thread)}:
            return NotSent()
        return None

    def _receipt(self, key: OutboxId) -> Receipt:
        return Receipt(f"{NAME}:{key}", self._context.clock.now())

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        for client in self._attached.of(path.thread):
            with suppress(OpenExecutiveError):
                await client.peer.send({"type": "draft", "turn": turn, "text": text})

    # --- the rest of the port ----------------------------------------------------------------------------------------

    async def fetch(self, attachment: Attachment) -> BlobHash:
        raise PermanentError("the client has not brought this file along")

    async def respond(self, response: str, answer: str | Form) -> None:
        raise PermanentError("a terminal has nothing to respond to at once")

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        return False

    def health(self) -> Health:
        if not self._person:
            since = self._context.clock.now()
            return Health(False, "there is nobody to speak as: name a principal in the settings", since)
        return Health(True) if self._inbox is not None else Health(False, "it is starting or stopping")

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    async def close(self) -> None:
        for client in self._attached.everyone():
            self._attached.remove(client)
