"""The channel itself: ties receiving, sending and drafts together and speaks to the gateway. The only I/O is theirs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from html import escape

from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.gateway.channel import ChannelContext, Health, HttpRoute, Inbox, LocalHandler, NotReadyError
from bot.gateway.events import (
    Attachment,
    Change,
    MembershipChanged,
    Nature,
    Place,
    PlaceKind,
    Proof,
    ReplyPath,
    Sender,
)
from bot.gateway.forms import Form
from bot.gateway.operations import CannotTell, Found, OutboundOp, Receipt, Reply, Send
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from bot.kernel.retry import Backoff
from channels.telegram import forms, menu
from channels.telegram.client import build_client
from channels.telegram.content import Me
from channels.telegram.drafts import Drafts
from channels.telegram.errors import CREDENTIALS_REFUSED, translate
from channels.telegram.keys import NAME, Target, message_of, place_key, target_of
from channels.telegram.mapping import moved
from channels.telegram.members import MemberCounts
from channels.telegram.poll import SLOW, Poller
from channels.telegram.receive import Receiver, State
from channels.telegram.render import plan
from channels.telegram.send import Deliverer
from channels.telegram.webhook import Webhook
from config.schema import Telegram as Settings

log = logging.getLogger(__name__)

CONNECT = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=60))
MAX_RESPONSE = 200
"""Characters of an answer to a press (Bot API answerCallbackQuery)."""


class Telegram:
    """`bot.gateway.channel.Channel` on the Bot API."""

    def __init__(self, settings: Settings, context: ChannelContext) -> None:
        if settings.token is None:
            raise PermanentError("channels.telegram.token is missing")
        self._settings = settings
        self._context = context
        self._client = build_client(settings.token.get_secret_value(), settings.base_url)
        self._state = State(context.clock)
        self._members = MemberCounts(self._client, context.clock, context.supervisor)
        self._drafts = Drafts(self._client, context.clock)
        self._deliverer = Deliverer(self._client, context.files, self._group_moved)
        self._webhook: Webhook | None = None
        if settings.mode == "webhook" and settings.public_url is not None and settings.webhook_secret is not None:
            secret = settings.webhook_secret.get_secret_value()
            self._webhook = Webhook(
                self._client, self._state, context.clock, settings.public_url, secret, context.ready
            )
        self._poller: Poller | None = None
        self._inbox: Inbox | None = None
        self._me: Me | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def placeholder(self) -> None:
        return None

    @property
    def has_buttons(self) -> bool:
        return True

    @property
    def form_fields(self) -> int:
        return 1

    async def direct(self, address: str) -> ReplyPath:
        """A private chat has the person's own id (Bot API, Chat)."""
        return ReplyPath(thread=f"{NAME}:{address}", address=address)

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        me = await self._identify()
        receiver = Receiver(self._client, me, self._members, self._context.clock, self._settings.max_download)
        self._me = me
        self._context.ready()
        self._context.supervisor.job("telegram commands", menu.offer(self._client))
        if self._webhook is not None:
            await self._webhook.run(receiver, inbox)
            return
        self._poller = Poller(
            self._client,
            receiver,
            self._state,
            self._context.clock,
            self._settings.poll_timeout,
            self._context.ready,
        )
        await self._poller.run(inbox)

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        return plan(reply)

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        if self._me is None:
            raise NotReadyError(self._state.reason or "not connected to Telegram yet")
        try:
            made = await self._deliverer.deliver(op, again)
        except RetryAfter as error:
            self._drafts.hush(target_of(op.path.thread), error)
            raise translate(error) from error
        except Forbidden as error:
            await self._shut_out(target_of(op.path.thread), key)
            raise translate(error) from error
        except TelegramError as error:
            raise translate(error) from error
        return Receipt(made, self._context.clock.now())

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """The Bot API cannot be asked what was sent."""
        return CannotTell()

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        if self._me is not None:
            await self._drafts.show(target_of(path.thread), turn, text)

    async def fetch(self, attachment: Attachment) -> BlobHash:
        limit = self._settings.max_download
        if attachment.source is None:
            raise PermanentError(attachment.fault or "the file is not on Telegram")
        try:
            file = await self._client.get_file(attachment.source)
            if (file.file_size or 0) > limit:
                raise PermanentError(f"too large: bots can fetch {limit / 1e6:.0f} MB at most")
            data = await file.download_as_bytearray(read_timeout=60.0)
        except TelegramError as error:
            raise translate(error, effect=False) from error
        return await self._context.files.put(bytes(data), limit)

    async def respond(self, response: str, answer: str | Form) -> None:
        handle = forms.Handle.read(response)
        query = response if handle is None else handle.query
        text = answer[:MAX_RESPONSE] if isinstance(answer, str) else ""
        try:
            if query:
                await self._client.answer_callback_query(query, text=text or None)
        except BadRequest as error:
            log.info("telegram: a press was answered too late: %s", error.message)
        except TelegramError as error:
            raise translate(error, effect=False) from error
        try:
            if isinstance(answer, Form):
                if handle is None or self._inbox is None:
                    raise PermanentError("only a press can be answered with a form")
                await forms.show(self._client, self._inbox, answer, handle)
            elif handle is not None and not query:  # to what was filled in, as to any message
                await self._deliverer.deliver(Send(handle.path, escape(text), text), again=False)
        except TelegramError as error:
            raise translate(error, effect=False) from error

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        chat, message_id = message_of(ref)
        try:
            return await self._client.delete_message(chat, message_id)
        except (BadRequest, Forbidden) as error:
            log.info("telegram: %s cannot be deleted: %s", ref, error.message)
            return False
        except TelegramError as error:
            raise translate(error, effect=False) from error

    def health(self) -> Health:
        where = f"@{self._me.username}" if self._me is not None else None
        found = replace(self._state.health(), where=where, sending=self._me is not None)
        stalled = self._poller.stalled() if self._poller is not None else None
        if found.receiving and stalled is not None:
            return replace(
                found, receiving=False, reason=f"no answer from Telegram for {stalled.total_seconds():.0f} s"
            )
        return found

    def routes(self) -> Sequence[HttpRoute]:
        return self._webhook.routes() if self._webhook is not None else ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        await self._client.close_pools()

    async def _identify(self) -> Me:
        """Ask who we are until the platform says so, for ever."""
        failures = 0
        while True:
            try:
                user = await self._client.get_me()
            except InvalidToken:
                self._state.bad(CREDENTIALS_REFUSED)
                wait = SLOW
            except TelegramError as error:
                failures += 1
                failure = translate(error, effect=False)
                self._state.bad(failure.message)
                asked = failure.retry_after if isinstance(failure, TransientError) else None
                wait = CONNECT.delay(failures, asked)
            else:
                return Me(user.id, user.username or "")
            await self._context.clock.sleep(wait)

    async def _group_moved(self, old: int, new: int) -> None:
        """A send found the group under a new id. The service message says the same; whichever comes first counts."""
        place = Place(PlaceKind.GROUP, "")
        await self._report(moved(old, new, place, self._context.clock.now()))

    async def _shut_out(self, target: Target, key: OutboxId) -> None:
        """A send was forbidden: the person blocked us, or we are no longer in the group."""
        private = target.is_private
        event = MembershipChanged(
            keys=(f"telegram:forbidden:{target.chat}:{key}",),
            place_key=place_key(target.chat),
            place=Place(PlaceKind.DIRECT if private else PlaceKind.GROUP, ""),
            change=Change.BLOCKED if private else Change.REMOVED,
            at=self._context.clock.now(),
            who=Sender(str(target.chat), "", Nature.PERSON, Proof.PLATFORM) if private else None,
        )
        await self._report(event)

    async def _report(self, event: MembershipChanged) -> None:
        if self._inbox is None:
            return
        try:
            await self._inbox.accept([event])
        except TransientError as error:
            # The outcome of the send stands without it; the next refused send says it again.
            log.warning("telegram: %s of %s could not be stored: %s", event.change, event.place_key, error.message)
