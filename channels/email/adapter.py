"""Ties the ways in (SMTP, a mailbox) and the way out to the core."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from bot.gateway import text as markdown
from bot.gateway.channel import ChannelContext, Health, HttpRoute, Inbox, LocalHandler
from bot.gateway.events import Attachment, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import Found, OutboundOp, Receipt, Reply, Send
from bot.gateway.text_layout import plain
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, OutboxId, TurnId, new_id
from bot.kernel.supervise import cancel, start
from channels.email import oauth, proof
from channels.email.addresses import base
from channels.email.mapping import NAME, Own
from channels.email.reading import Reader
from channels.email.render import to_html
from channels.email.sending import Outgoing
from channels.email.smtp_in import SmtpIn
from channels.email.tokens import Tokens
from config.schema import Email


class WayIn(Protocol):
    """One way that mail comes in."""

    @property
    def health(self) -> Health: ...

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled."""
        ...


class EmailChannel:
    def __init__(self, settings: Email, context: ChannelContext, *, local_mode: bool) -> None:
        self._context = context
        local_mode = local_mode and settings.proof == "auto"
        own = Own(base(settings.address)[0])
        # In local mode everybody is on this machine and believed, and most local servers know no tagged addresses.
        tokens = Tokens(own.address, NAME, context.secret) if settings.reply_tokens and not local_mode else None
        rules = proof.Rules(
            local_mode,
            settings.authserv_id if settings.proof == "header" else None,
            frozenset(domain.lower() for domain in settings.per_user_from),
            tokens,
        )
        access = oauth.AccessTokens(settings.oauth, oauth.token_file(context.data_dir), context.clock)
        self.reader = Reader(settings, context, own, rules)
        self.smtp = (
            SmtpIn(settings.smtp, context, own, self.reader, local_mode=local_mode) if settings.smtp.enabled else None
        )
        self._ways: list[WayIn] = [] if self.smtp is None else [self.smtp]
        sent = None
        if settings.imap.host is not None:
            from channels.email.imap_in import Mailbox  # only who has a mailbox holds it
            from channels.email.imap_sent import ImapSent

            mailbox = Mailbox(settings, context, self.reader, access.get)
            self._ways.append(mailbox)
            sent = ImapSent(settings, access.get) if settings.imap.sent is not None else None
        self._out = Outgoing(settings, context, own, tokens, access.get, sent)

    @property
    def name(self) -> str:
        return NAME

    @property
    def placeholder(self) -> None:
        return None

    @property
    def port(self) -> int | None:
        """The port that mail comes in on; None while there is none."""
        return None if self.smtp is None else self.smtp.port

    @property
    def has_buttons(self) -> bool:
        return False

    @property
    def form_fields(self) -> int:
        return 0

    async def direct(self, address: str) -> ReplyPath:
        """A mail of its own begins a thread of its own."""
        return ReplyPath(thread=f"{NAME}:{new_id(self._context.clock.now())}", address=address, subject="A word")

    async def run(self, inbox: Inbox) -> None:
        tasks = [start(f"mail {type(way).__name__}", way.run(inbox)) for way in self._ways]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                await cancel(task)

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        """One mail to each reader, whatever its length, the asker's first. Each names the others in Cc, and carries a
        reply token of its reader alone: who got another's could answer in their name."""
        document = markdown.parse(reply.markdown)
        text = plain(document) or ("(see the attached files)" if reply.files else "")
        markup = to_html(document)
        readers = (reply.path.address, *reply.path.also)
        return [
            Send(
                replace(reply.path, address=reader, also=tuple(other for other in readers if other != reader)),
                markup,
                text,
                reply.files,
            )
            for reader in readers
        ]

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        if not isinstance(op, Send):
            raise PermanentError(f"mail has no way to {op.kind.replace('_', ' ')}")
        return await self._out.send(op, key, again=again)

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        return await self._out.find(key)

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        """Mail shows nothing of an answer that is being written."""

    async def fetch(self, attachment: Attachment) -> BlobHash:
        """Files came with the mail; there is nowhere to fetch them from."""
        if attachment.blob is None:
            raise PermanentError(attachment.fault or f"{attachment.name} was not kept")
        return attachment.blob

    async def respond(self, response: str, answer: str | Form) -> None:
        """Mail has no buttons."""

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        """Sent mail cannot be called back."""
        return False

    async def remove_copies(self, keys: Sequence[OutboxId]) -> None:
        """See `KeepsCopies`."""
        await self._out.remove_copies(keys)

    def health(self) -> Health:
        """Receives if every way in does; the first thing that does not work says why."""
        states = [way.health for way in self._ways]
        where = ", ".join(state.where for state in states if state.where) or None
        broken = next((state for state in states if not state.receiving), None)
        health = broken or states[0]
        return replace(health, where=where, sending=self._out.broken is None, reason=health.reason or self._out.broken)

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        """Nothing is held between sends."""
