"""Ties SMTP, parsing, proof and the outgoing side to the core.

The reply to a mail is the promise: 250 is given only after `Inbox.accept` has committed. What the core refuses (a
stranger, a sender who could not be proven) is audited there and answered 550 with one fixed wording, the same for both:
the sender learns that nobody reads it, nobody learns who is known here, and no mail of ours goes to a forged address.
Where the mail came through a server of our own side, or is a machine's, it is answered 250 instead: a 550 would make
that server write a bounce to whoever was forged.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from bot.gateway import text as markdown
from bot.gateway.channel import Accepted, ChannelContext, Health, HttpRoute, Inbox, LocalHandler, NotReadyError
from bot.gateway.events import Attachment, DeliveryReported, InboundEvent, MessageReceived, Proof, ReplyPath
from bot.gateway.operations import CannotTell, Found, NotSent, OutboundOp, Receipt, Reply, Send
from bot.gateway.text_layout import plain
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, OutboxId, TurnId, new_id
from bot.kernel.retry import Backoff
from channels.email import compose, mapping, mime, proof, server
from channels.email.addresses import base, is_ours
from channels.email.maildir import Maildir, host_part
from channels.email.mapping import NAME, Own
from channels.email.render import to_html
from channels.email.resolver import Resolver, SystemResolver, split_nameserver
from config.schema import Email

if TYPE_CHECKING:
    from channels.email.relay import RelaySender

log = logging.getLogger(__name__)

BACKLOG = 256
IN_THREAD = 64 * 1024
"""Mails larger than this, in bytes, are read in a thread: the loop must not wait for them."""
MAX_ATTACHMENT = 20_000_000
MAX_ATTACHMENTS = 50
MAX_PROOFS = 4
"""Senders that are being proven at the same time: each holds a thread while DNS answers."""
CLOSING = timedelta(seconds=5)


class EmailChannel:
    def __init__(self, settings: Email, context: ChannelContext, *, local_mode: bool) -> None:
        self._settings = settings
        self._context = context
        self._local_mode = local_mode and settings.proof == "auto"
        self._own = Own(base(settings.address)[0])
        self._rules = proof.Rules(
            self._local_mode,
            settings.authserv_id if settings.proof == "header" else None,
            frozenset(domain.lower() for domain in settings.per_user_from),
        )
        self._maildir = Maildir(context.data_dir / "maildir", host_part(self._own.id_domain))
        self._relay = None if settings.relay.host is None else _relay(settings)
        self._proofs = asyncio.Semaphore(MAX_PROOFS)
        self._health = Health(False, "the mail server has not started yet")
        self._port: int | None = None
        self.listening = asyncio.Event()
        """Set while the server takes connections on `port`."""

    @property
    def name(self) -> str:
        return NAME

    @property
    def placeholder(self) -> None:
        return None

    @property
    def port(self) -> int | None:
        """The port that mail comes in on; None while there is none."""
        return self._port

    @property
    def has_buttons(self) -> bool:
        return False

    async def direct(self, address: str) -> ReplyPath:
        """A mail of its own begins a thread of its own."""
        return ReplyPath(thread=f"{NAME}:{new_id(self._context.clock.now())}", address=address, subject="A word")

    async def run(self, inbox: Inbox) -> None:
        backoff = Backoff(cap=timedelta(minutes=1))
        attempt = 0
        while True:
            try:
                await self._serve(inbox)
            except (OSError, ssl.SSLError) as error:
                attempt += 1
                where = f"{self._settings.smtp.host}:{self._settings.smtp.port}"
                reason = f"the mail server cannot start on {where}: {error.strerror or error}"
                if self._health.reason != reason:
                    log.error("%s", reason)  # noqa: TRY400 - the reason says it all
                self._health = Health(False, reason, self._context.clock.now())
                await self._context.clock.sleep(backoff.delay(attempt))

    async def _serve(self, inbox: Inbox) -> None:
        """Listen until cancelled. Raises `OSError` if it cannot."""
        smtp = self._settings.smtp
        connections = server.Connections()
        options = server.Options(smtp.hostname, smtp.max_size, await asyncio.to_thread(self._tls))

        async def deliver(delivery: server.Delivery) -> str:
            return await self._take(delivery, inbox)

        handler = server.Handler(deliver, lambda address: is_ours(address, self._own.address))
        listener = await asyncio.get_running_loop().create_server(
            lambda: server.SmtpConnection(handler, options, connections), smtp.host, smtp.port, backlog=BACKLOG
        )
        try:
            self._port = int(listener.sockets[0].getsockname()[1])
            self._health = Health(True, None, self._context.clock.now())
            self.listening.set()
            self._context.ready()
            await listener.serve_forever()
        finally:
            self.listening.clear()
            self._port = None
            self._health = Health(False, "the mail server has stopped", self._context.clock.now())
            listener.close()
            await connections.close(CLOSING)

    def _tls(self) -> ssl.SSLContext | None:
        smtp = self._settings.smtp
        if smtp.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(smtp.certificate, smtp.key)
        return context

    async def _take(self, delivery: server.Delivery, inbox: Inbox) -> str:
        """One mail from the wire into the core; the SMTP reply."""
        envelope = proof.Envelope(
            delivery.peer, delivery.helo, delivery.mail_from, delivery.recipients[0], self._context.clock.now()
        )
        raw = delivery.content
        parsed = mime.parse(raw) if len(raw) <= IN_THREAD else await asyncio.to_thread(mime.parse, raw)
        for note in parsed.notes:
            log.info("a mail was read in part: %s", note)
        mail = mapping.Mail(parsed, raw, envelope)
        event = await self._event(mail, inbox)
        (accepted,) = await inbox.accept([event])
        if accepted is not Accepted.REFUSED:
            return server.OK
        came_through_us = not self._local_mode and proof.is_own_side(delivery.peer)
        return server.OK if came_through_us or _is_automatic(event) else server.STRANGER

    async def _event(self, mail: mapping.Mail, inbox: Inbox) -> InboundEvent:
        sender = mapping.sender_of(mail.parsed, mail.envelope.mail_from)
        known = sender is not None and await inbox.is_known(sender.address)
        verdict = await self._prove(mail)
        log.info("sender proof: %s (%s)", verdict.proof, verdict.note)
        attachments: Sequence[Attachment] = ()
        blob: BlobHash | None = None
        if known or verdict.proof is not Proof.NONE:  # nobody else may fill the disk
            blob = await self._context.files.put(mail.raw, self._settings.smtp.max_size + 1)
            attachments = await self._attachments(mail.parsed)
        other = mapping.reply_to_of(mail.parsed, self._own)
        other_known = verdict.reply_to_trusted and other is not None and await inbox.is_known(other)
        to_event = partial(mapping.to_event, mail, self._own, verdict, attachments, blob, reply_to_known=other_known)
        return to_event() if len(mail.raw) <= IN_THREAD else await asyncio.to_thread(to_event)

    async def _prove(self, mail: mapping.Mail) -> proof.Verdict:
        """Raises `TransientError` while DNS does not answer: the sender's server will try again."""
        if not proof.needs_dns(mail.raw, mail.envelope, self._rules):
            return proof.check(mail.raw, mail.envelope, self._rules, _NO_DNS)
        async with self._proofs:
            return await asyncio.to_thread(proof.check, mail.raw, mail.envelope, self._rules, self._resolver())

    def _resolver(self) -> Resolver:
        return SystemResolver([split_nameserver(text) for text in self._settings.nameservers])

    async def _attachments(self, parsed: mime.ParsedMail) -> tuple[Attachment, ...]:
        stored = []
        for number, file in enumerate(parsed.files):
            blob, fault = None, None
            if number >= MAX_ATTACHMENTS:
                fault = f"more than {MAX_ATTACHMENTS} files in one mail"
            else:
                try:
                    blob = await self._context.files.put(file.data, MAX_ATTACHMENT)
                except PermanentError:
                    fault = f"larger than {MAX_ATTACHMENT // 1_000_000} MB"
            stored.append(Attachment(file.name, file.media_type, len(file.data), blob=blob, fault=fault))
        return tuple(stored)

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        """One mail, whatever its length."""
        document = markdown.parse(reply.markdown)
        text = plain(document) or ("(see the attached files)" if reply.files else "")
        return [Send(reply.path, to_html(document), text, reply.files)]

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        if not isinstance(op, Send):
            raise PermanentError(f"mail has no way to {op.kind.replace('_', ' ')}")
        recipient = compose.recipient(op.path)
        if is_ours(recipient, self._own.address):
            raise PermanentError("the answer would go to the executive itself")
        files = [compose.File(f.name, f.media_type, await self._context.files.read(f.blob)) for f in op.files]
        now = self._context.clock.now()
        content = await asyncio.to_thread(compose.compose, op, key, self._own, files, now, again=again)
        at = now
        if self._relay is None:
            at = await asyncio.to_thread(self._maildir.deliver, key, content)
        else:
            await self._through(self._relay, recipient, content)
        return Receipt(mapping.ref(compose.message_id(key, self._own)), at)

    async def _through(self, relay: RelaySender, recipient: str, content: bytes) -> None:
        try:
            await relay.deliver(self._own.address, recipient, content)
        except NotReadyError as error:
            log.warning("%s", error.message)
            raise

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """A Maildir knows for certain; a relay cannot be asked."""
        if self._relay is not None:
            return CannotTell()
        try:
            at = await asyncio.to_thread(self._maildir.find, key)
        except OSError:
            return CannotTell()
        return NotSent() if at is None else Receipt(mapping.ref(compose.message_id(key, self._own)), at)

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        """Mail shows nothing of an answer that is being written."""

    async def fetch(self, attachment: Attachment) -> BlobHash:
        """Files came with the mail; there is nowhere to fetch them from."""
        if attachment.blob is None:
            raise PermanentError(attachment.fault or f"{attachment.name} was not kept")
        return attachment.blob

    async def respond(self, response: str, text: str) -> None:
        """Mail has no buttons."""

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        """Sent mail cannot be called back."""
        return False

    def health(self) -> Health:
        return self._health

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        """Nothing is held between sends."""


def _relay(settings: Email) -> RelaySender:
    """Imported here: without a relay its library is not loaded."""
    from channels.email.relay import RelaySender

    return RelaySender(settings.relay, settings.smtp.hostname)


class _NoDns:
    """For mails whose proof asks no DNS."""

    def lookup(self, name: str, kind: str) -> Sequence[str]:
        raise TransientError("no DNS was expected to be asked")


_NO_DNS = _NoDns()


def _is_automatic(event: InboundEvent) -> bool:
    return isinstance(event, DeliveryReported) or (isinstance(event, MessageReceived) and event.automatic is not None)
