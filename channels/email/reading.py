"""One delivery, however it came, to one event: parse, prove the sender, keep the bytes, name who gets the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from bot.gateway.channel import ChannelContext, Inbox
from bot.gateway.events import Attachment, InboundEvent, MessageReceived, Proof
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash
from channels.email import mapping, mime, proof, signed
from channels.email.mapping import Own
from channels.email.resolver import DnsFailure, Resolver, SystemResolver, split_nameserver
from config.schema import Email

log = logging.getLogger(__name__)

IN_THREAD = 64 * 1024
"""Mails larger than this, in bytes, are read in a thread: the loop must not wait for them."""
MAX_ATTACHMENTS = 50
MAX_ALSO = 10
"""People who get an answer besides the asker."""
MAX_PROOFS = 4
"""Senders that are being proven at the same time: each holds a thread while DNS answers."""


class Reader:
    def __init__(self, settings: Email, context: ChannelContext, own: Own, rules: proof.Rules) -> None:
        self._settings = settings
        self._context = context
        self._own = own
        self._rules = rules
        self._loaded = False
        self._proofs = asyncio.Semaphore(MAX_PROOFS)
        self.resolver: Callable[[], Resolver] = lambda: SystemResolver(
            [split_nameserver(text) for text in settings.nameservers]
        )

    async def read(
        self,
        raw: bytes,
        envelope: proof.Envelope,
        inbox: Inbox,
        *,
        left_out: int | None = None,
        wait_for_dns: bool = True,
    ) -> InboundEvent:
        """`left_out`: `raw` is the header only, of a mail of so many bytes that was not read. Raises `DnsFailure`
        while the sender's domain does not answer; without `wait_for_dns` the sender is then unproven."""
        parsed = mime.parse(raw) if len(raw) <= IN_THREAD else await asyncio.to_thread(mime.parse, raw)
        for note in parsed.notes:
            log.info("a mail was read in part: %s", note)
        mail = mapping.Mail(parsed, raw, envelope)
        sender = mapping.sender_of(parsed, envelope.mail_from)
        known = sender is not None and await inbox.is_known(sender.address)
        verdict = await self._prove(mail, wait_for_dns=wait_for_dns)
        log.info("sender proof: %s (%s)", verdict.proof, verdict.note)
        attachments: Sequence[Attachment] = ()
        blob: BlobHash | None = None
        if known or verdict.proof is not Proof.NONE:  # nobody else may fill the disk
            blob = await self._context.files.put(raw, max(self._settings.smtp.max_size, len(raw)) + 1)
            attachments = await self._attachments(parsed)
        other = mapping.reply_to_of(parsed, self._own)
        to_event = partial(
            mapping.to_event,
            mail,
            self._own,
            verdict,
            attachments,
            blob,
            reply_to_known=verdict.reply_to_trusted and other is not None and await inbox.is_known(other),
            also=await self._also(parsed, verdict, inbox) if known else (),
        )
        event = to_event() if len(raw) <= IN_THREAD else await asyncio.to_thread(to_event)
        return event if left_out is None else _named_as_too_large(event, left_out, self._settings.imap.max_size)

    async def _prove(self, mail: mapping.Mail, *, wait_for_dns: bool) -> proof.Verdict:
        if not self._loaded and self._rules.authserv_id is not None:
            await asyncio.to_thread(signed.load)
            self._loaded = True
        if not proof.needs_dns(mail.raw, mail.envelope, self._rules):
            return proof.check(mail.raw, mail.envelope, self._rules, _NO_DNS)
        try:
            async with self._proofs:
                return await asyncio.to_thread(proof.check, mail.raw, mail.envelope, self._rules, self.resolver())
        except DnsFailure as error:
            if wait_for_dns:
                raise
            return proof.unproven(error.message)

    async def _attachments(self, parsed: mime.ParsedMail) -> tuple[Attachment, ...]:
        limit = self._settings.max_attachment
        stored = []
        for number, file in enumerate(parsed.files):
            blob, fault = None, None
            if number >= MAX_ATTACHMENTS:
                fault = f"more than {MAX_ATTACHMENTS} files in one mail"
            else:
                try:
                    blob = await self._context.files.put(file.data, limit)
                except PermanentError:
                    fault = f"larger than {size_words(limit)}"
            stored.append(Attachment(file.name, file.media_type, len(file.data), blob=blob, fault=fault))
        return tuple(stored)

    async def _also(self, parsed: mime.ParsedMail, verdict: proof.Verdict, inbox: Inbox) -> tuple[str, ...]:
        """Who else is answered. All of them read the question too, so they stand within the thread's audience."""
        if self._settings.reply_all != "roster" or verdict.proof is Proof.NONE or not verdict.recipients_trusted:
            return ()
        asked = [mailbox.address for mailbox in mapping.recipients_of(parsed, self._own)][: mapping.MAX_OTHERS]
        return tuple([address for address in asked if await inbox.is_known(address)][:MAX_ALSO])


def size_words(size: int) -> str:
    """`20 MB`, `1.5 MB`, `500 bytes`."""
    return f"{size / 1_000_000:.3g} MB" if size >= 100_000 else f"{size} bytes"


def _named_as_too_large(event: InboundEvent, size: int, limit: int) -> InboundEvent:
    """The answer names the fault, as with any other file that cannot be read."""
    if not isinstance(event, MessageReceived):
        return event
    fault = f"larger than {size_words(limit)}: I have read its header only, not its text and files"
    return replace(event, attachments=(Attachment("the mail itself", "message/rfc822", size, fault=fault),))


class _NoDns:
    """For mails whose proof asks no DNS."""

    def lookup(self, name: str, kind: str) -> Sequence[str]:
        raise TransientError("no DNS was expected to be asked")


_NO_DNS = _NoDns()
