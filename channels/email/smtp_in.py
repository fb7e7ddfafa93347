"""Mail that comes in over SMTP.

The reply to a mail is the promise: 250 is given only after `Inbox.accept` has committed. What the core refuses (a
stranger, a sender who could not be proven) is audited there and answered 550 with one fixed wording, the same for both:
the sender learns that nobody reads it, nobody learns who is known here, and no mail of ours goes to a forged address.
Where the mail was handed on by one of `smtp.trusted_peers`, or is a machine's, it is answered 250 instead: a 550 would
make that server write a bounce to whoever was forged.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import timedelta

from bot.gateway.channel import Accepted, ChannelContext, Health, Inbox
from bot.gateway.events import DeliveryReported, InboundEvent, MessageReceived
from bot.kernel.retry import Backoff
from channels.email import proof, server
from channels.email.addresses import is_ours
from channels.email.mapping import Own
from channels.email.reading import Reader
from config.schema import Smtp

log = logging.getLogger(__name__)

BACKLOG = 256
CLOSING = timedelta(seconds=5)


class SmtpIn:
    def __init__(self, settings: Smtp, context: ChannelContext, own: Own, reader: Reader, *, local_mode: bool) -> None:
        self._settings = settings
        self._context = context
        self._own = own
        self._reader = reader
        self._local_mode = local_mode
        self.health = Health(False, "the mail server has not started yet")
        self.port: int | None = None
        """The port that mail comes in on; None while there is none."""

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled."""
        backoff = Backoff(cap=timedelta(minutes=1))
        attempt = 0
        while True:
            try:
                await self._serve(inbox)
            except (OSError, ssl.SSLError) as error:
                attempt += 1
                where = f"{self._settings.host}:{self._settings.port}"
                reason = f"the mail server cannot start on {where}: {error.strerror or error}"
                if self.health.reason != reason:
                    log.error("%s", reason)  # noqa: TRY400 - the reason says it all
                self.health = Health(False, reason, self._context.clock.now())
                await self._context.clock.sleep(backoff.delay(attempt))

    async def _serve(self, inbox: Inbox) -> None:
        """Listen until cancelled. Raises `OSError` if it cannot."""
        smtp = self._settings
        connections = server.Connections()
        options = server.Options(smtp.hostname, smtp.max_size, await asyncio.to_thread(self._tls))

        async def deliver(delivery: server.Delivery) -> str:
            return await self._take(delivery, inbox)

        handler = server.Handler(deliver, lambda address: is_ours(address, self._own.address))
        listener = await asyncio.get_running_loop().create_server(
            lambda: server.SmtpConnection(handler, options, connections), smtp.host, smtp.port, backlog=BACKLOG
        )
        try:
            self.port = int(listener.sockets[0].getsockname()[1])
            where = f"[{smtp.host}]:{self.port}" if ":" in smtp.host else f"{smtp.host}:{self.port}"
            self.health = Health(True, None, self._context.clock.now(), where)
            self._context.ready()
            await listener.serve_forever()
        finally:
            self.port = None
            self.health = Health(False, "the mail server has stopped", self._context.clock.now())
            listener.close()
            await connections.close(CLOSING)

    def _tls(self) -> ssl.SSLContext | None:
        if self._settings.certificate is None or self._settings.key is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._settings.certificate, self._settings.key)
        return context

    async def _take(self, delivery: server.Delivery, inbox: Inbox) -> str:
        """One mail from the wire into the core; the SMTP reply. Raises `TransientError` while DNS or the store cannot:
        the sender's server will try again."""
        trusted = not self._local_mode and proof.is_among(delivery.peer, self._settings.trusted_peers)
        envelope = proof.Envelope(
            delivery.peer,
            delivery.helo,
            delivery.mail_from,
            delivery.recipients,
            self._context.clock.now(),
            proof.Via.TRUSTED if trusted else proof.Via.ANYBODY,
        )
        event = await self._reader.read(delivery.content, envelope, inbox)
        (accepted,) = await inbox.accept([event])
        if accepted is not Accepted.REFUSED:
            return server.OK
        return server.OK if trusted or _is_automatic(event) else server.STRANGER


def _is_automatic(event: InboundEvent) -> bool:
    return isinstance(event, DeliveryReported) or (isinstance(event, MessageReceived) and event.automatic is not None)
