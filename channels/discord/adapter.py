"""The channel itself: ties the link, receiving, sending and drafts together and speaks to the gateway."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.gateway.channel import ChannelContext, Health, HttpRoute, Inbox, LocalHandler, NotReadyError
from bot.gateway.events import Attachment, MembershipChanged, ReplyPath
from bot.gateway.forms import MOST_FIELDS, Form
from bot.gateway.operations import Delete, Edit, Found, OutboundOp, Receipt, Reply
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from bot.kernel.supervise import cancel, start
from channels.discord.client import Api, quiet_library
from channels.discord.drafts import Drafts
from channels.discord.errors import REQUEST_ERRORS, status_of, translate
from channels.discord.interactions import Interactions, register
from channels.discord.keys import NAME, direct_key, message_of
from channels.discord.link import Link
from channels.discord.memberships import blocked, refused_thread
from channels.discord.places import Places
from channels.discord.receive import Receiver
from channels.discord.register import Register
from channels.discord.render import plan
from channels.discord.send import Deliverer
from channels.discord.state import STARTING, State
from channels.discord.where import Me, Rules
from config.schema import Discord as Settings

log = logging.getLogger(__name__)


class Discord:
    """`bot.gateway.channel.Channel` on Discord."""

    def __init__(self, settings: Settings, context: ChannelContext) -> None:
        if settings.token is None:
            raise PermanentError("channels.discord.token is missing")
        quiet_library()
        clock = context.clock
        self._settings = settings
        self._context = context
        self._api = Api(context.supervisor)
        self._state = State(clock)
        self._places = Places(self._api)
        self._register = Register(clock, settings.read_back_days)
        self._interactions = Interactions(self._api, context.supervisor)
        self._drafts = Drafts(self._api, clock, context.supervisor)
        self._deliverer = Deliverer(self._api, context.files, self._places, self._thread_refused, self._shut_out)
        self._receiver = Receiver(self._api, self._places, self._register, self._state, clock, self._interactions)
        token = settings.token.get_secret_value()
        self._link = Link(settings, token, self._api, self._state, clock, self._hear, self._logged_in)
        self._inbox: Inbox | None = None
        self._me: Me | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def placeholder(self) -> str:
        return "…"

    @property
    def has_buttons(self) -> bool:
        return True

    @property
    def form_fields(self) -> int:
        return MOST_FIELDS

    async def direct(self, address: str) -> ReplyPath:
        if not (address.isascii() and address.isdigit()):
            raise PermanentError(f"{address} is no Discord account: the number behind Copy User ID is wanted")
        return ReplyPath(thread=direct_key(address), address=address)

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await self._receiver.load(inbox)
        receiving = start("discord receive", self._receiver.run(inbox))
        linked = start("discord link", self._link.run())
        try:
            # Neither returns; if one fails, its failure ends the channel's service.
            for task in (receiving, linked):
                task.add_done_callback(lambda _: (receiving.cancel(), linked.cancel()))
            await receiving
            await linked
        finally:
            await cancel(receiving)
            await cancel(linked)

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        return plan(reply)

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        me = self._me
        if me is None or not self._api.ready:
            raise NotReadyError(self._state.link or STARTING)
        if isinstance(op, Edit | Delete):
            await self._drafts.settle(op.target)
        try:
            earlier = await self._deliverer.earlier(op, key, self._context.clock.now(), me.id)
            if earlier is not None:
                return earlier
            made = await self._deliverer.deliver(op, key, again)
        except REQUEST_ERRORS as error:
            failure = translate(error)
            if isinstance(failure, TransientError) and failure.retry_after is not None:
                await self._hush(op.path, failure)
            raise failure from error
        return Receipt(made, self._context.clock.now())

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        me = self._me
        if me is None or not self._api.ready:
            raise NotReadyError(self._state.link or STARTING)
        return await self._deliverer.find(op, key, tried_at, self._context.clock.now(), me.id)

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        if self._me is None or not self._api.ready:
            return
        try:
            if ref is not None:
                await self._drafts.grow(ref, text)
            if text is None:
                await self._drafts.typing(await self._deliverer.channel_of(path))
        except REQUEST_ERRORS as error:
            log.debug("discord: no sign of life in %s: %s", path.thread, translate(error, effect=False).message)
        except OpenExecutiveError as error:
            log.debug("discord: no sign of life in %s: %s", path.thread, error.message)

    async def fetch(self, attachment: Attachment) -> BlobHash:
        limit = self._settings.max_download
        if attachment.source is None:
            raise PermanentError(attachment.fault or "the file is not on Discord")
        if attachment.size is not None and attachment.size > limit:
            raise PermanentError(f"too large: at most {limit / 1e6:.0f} MB are fetched")
        where, _, url = attachment.source.partition(" ")
        try:
            try:
                data = await self._api.download(url)
            except REQUEST_ERRORS as error:
                fresh = await self._fresh_address(where) if status_of(error) in (403, 404) else None
                if fresh is None:
                    raise
                data = await self._api.download(fresh)
        except REQUEST_ERRORS as error:
            raise translate(error, effect=False) from error
        return await self._context.files.put(data, limit)

    async def respond(self, response: str, answer: str | Form) -> None:
        if self._me is None:
            raise NotReadyError(self._state.link or STARTING)
        await self._interactions.respond(self._me.application, response, answer)

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        channel, message = message_of(ref)
        address = "/channels/{channel_id}/messages/{message_id}"
        try:
            await self._api.call("DELETE", address, channel_id=channel, message_id=message)
        except REQUEST_ERRORS as error:
            failure = translate(error, effect=False)
            if isinstance(failure, PermanentError):
                log.info("discord: %s cannot be deleted: %s", ref, failure.message)
                return False
            raise failure from error
        return True

    def health(self) -> Health:
        return replace(self._state.health(), sending=self._me is not None and self._api.ready)

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        await self._link.close()

    def _hear(self, event: str, data: Any) -> None:
        if event in ("READY", "RESUMED"):
            self._context.ready()  # also after a broken link: what could not be sent meanwhile waits for this
        self._receiver.hear(event, data)

    def _logged_in(self, me: Me) -> None:
        """The platform has said who we are: now what comes can be judged, and sent."""
        first = self._me is None
        self._me = me
        self._receiver.identified(Rules(me, self._settings.answer == "thread", self._settings.max_download))
        self._context.ready()
        if first:
            work = register(self._api, me.application, self._settings.guilds)
            self._context.supervisor.job("discord commands", work)

    async def _fresh_address(self, where: str) -> str | None:
        """Addresses of files expire; the message knows a fresh one."""
        channel, message, file = where.split(":")
        found = await self._api.call(
            "GET", "/channels/{channel_id}/messages/{message_id}", channel_id=int(channel), message_id=int(message)
        )
        return next((str(one["url"]) for one in found.get("attachments") or () if str(one["id"]) == file), None)

    async def _hush(self, path: ReplyPath, failure: TransientError) -> None:
        try:
            self._drafts.hush(await self._deliverer.channel_of(path), failure.retry_after)
        except (OpenExecutiveError, *REQUEST_ERRORS) as error:
            log.debug("discord: no channel to be quiet in: %s", type(error).__name__)

    async def _thread_refused(self, thread: str, fallback: str) -> None:
        """The conversation goes on in the channel; the core has to know before anything is said there."""
        log.info("discord: %s cannot be opened; answering in %s", thread, fallback)
        if self._inbox is not None:
            await self._inbox.accept([refused_thread(thread, fallback, self._context.clock.now())])

    async def _shut_out(self, user: int, key: OutboxId) -> None:
        await self._report(blocked(user, key, self._context.clock.now()))

    async def _report(self, event: MembershipChanged) -> None:
        if self._inbox is None:
            return
        try:
            await self._inbox.accept([event])
        except TransientError as error:
            # The outcome of the send stands without it; the next refused send says it again.
            log.warning("discord: %s of %s could not be stored: %s", event.change, event.place_key, error.message)
