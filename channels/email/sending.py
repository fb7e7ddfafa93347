"""What goes out: one mail per outbox row, through a relay or into the Maildir, and a copy of it for the Sent folder.

The copy is made after the mail is on its way and is best effort: that it fails is logged, and nothing is sent again for
it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from bot.gateway.channel import ChannelContext, NotReadyError
from bot.gateway.operations import CannotTell, Found, NotSent, Receipt, Send
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.ids import OutboxId
from bot.kernel.retry import Backoff
from channels.email import compose, mapping
from channels.email.addresses import is_ours
from channels.email.maildir import Maildir, host_part
from channels.email.mapping import Own
from channels.email.tokens import Tokens
from config.schema import Email

if TYPE_CHECKING:
    from channels.email.relay import RelaySender

log = logging.getLogger(__name__)

PROBE = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=1))

AccessToken = Callable[[], Awaitable[str]]


class SentFolder(Protocol):
    async def keep(self, content: bytes, at: datetime) -> None:
        """Raises `OpenExecutiveError`."""
        ...


class Outgoing:
    def __init__(
        self,
        settings: Email,
        context: ChannelContext,
        own: Own,
        tokens: Tokens | None,
        access_token: AccessToken,
        sent: SentFolder | None,
    ) -> None:
        self._context = context
        self._own = own
        self._tokens = tokens
        self._sent = sent
        self._maildir = Maildir(context.data_dir / "maildir", host_part(own.id_domain))
        self._relay = None if settings.relay.host is None else _relay(settings, access_token)
        self.broken: str | None = None
        """Why nothing can be sent, since the last try; None while it can."""

    async def send(self, op: Send, key: OutboxId, *, again: bool) -> Receipt:
        """See `Channel.send`."""
        recipient = compose.recipient(op.path)
        if is_ours(recipient, self._own.address):
            raise PermanentError("the answer would go to the executive itself")
        files = [compose.File(f.name, f.media_type, await self._context.files.read(f.blob)) for f in op.files]
        reply_to = None if self._tokens is None else self._tokens.address(op.path.thread, op.path.address)
        now = self._context.clock.now()
        content = await asyncio.to_thread(
            compose.compose, op, key, self._own, files, now, again=again, reply_to=reply_to
        )
        at = now
        if self._relay is None:
            at = await asyncio.to_thread(self._maildir.deliver, key, content)
        else:
            await self._through(self._relay, recipient, content)
            if self._sent is not None:
                self._context.supervisor.job("sent copy", self._keep(self._sent, content, now))
        return Receipt(mapping.ref(compose.message_id(key, self._own)), at)

    async def _through(self, relay: RelaySender, recipient: str, content: bytes) -> None:
        try:
            await relay.deliver(self._own.address, recipient, content)
        except NotReadyError as error:
            if self.broken != error.message:
                log.warning("%s", error.message)
            probed, self.broken = self.broken is not None, error.message
            if not probed:
                self._context.supervisor.job("relay probe", self._probe(relay))
            raise
        except OpenExecutiveError:
            self.broken = None  # a session was reached: it is about this mail
            raise
        self.broken = None

    async def _probe(self, relay: RelaySender) -> None:
        """Look for the relay until it is back: while `health` says that nothing can be sent, nothing is tried."""
        failures = 0
        while self.broken is not None:
            failures += 1
            await self._context.clock.sleep(PROBE.delay(failures))
            try:
                await relay.reach()
            except NotReadyError as error:
                self.broken = error.message
            else:
                self.broken = None
        self._context.ready()

    async def _keep(self, sent: SentFolder, content: bytes, at: datetime) -> None:
        try:
            await sent.keep(content, at)
        except OpenExecutiveError as error:
            log.warning("an answer was sent, but not copied to the Sent folder: %s", error.message)

    async def remove_copies(self, keys: Sequence[OutboxId]) -> None:
        """Delete from the Maildir. Raises `TransientError`."""
        await asyncio.to_thread(self._remove, keys)

    def _remove(self, keys: Sequence[OutboxId]) -> None:
        try:
            for key in keys:
                self._maildir.remove(key)
        except OSError as error:
            raise TransientError(f"the Maildir cannot be changed: {error.strerror}") from error

    async def find(self, key: OutboxId) -> Found:
        """A Maildir knows for certain; a relay cannot be asked."""
        if self._relay is not None:
            return CannotTell()
        try:
            at = await asyncio.to_thread(self._maildir.find, key)
        except OSError:
            return CannotTell()
        return NotSent() if at is None else Receipt(mapping.ref(compose.message_id(key, self._own)), at)


def _relay(settings: Email, access_token: AccessToken) -> RelaySender:
    """Imported here: without a relay its library is not loaded."""
    from channels.email.relay import RelaySender

    return RelaySender(settings.relay, settings.smtp.hostname, access_token=access_token)
