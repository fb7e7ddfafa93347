"""From an envelope to the inbox. slack-bolt dispatches; nothing is acknowledged before the commit.

Bolt runs with `process_before_response`: otherwise it acknowledges events before the listener has run. A listener that
raises leaves its envelope without an acknowledgement, and Slack delivers it again. What nothing here is for is
acknowledged all the same: Bolt would answer 404 and the platform would retry for nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.gateway.channel import Accepted, Cursor, Inbox
from bot.gateway.events import (
    Addressed,
    CommandInvoked,
    InboundEvent,
    MessageEdited,
    MessageReceived,
    PlaceKind,
    Thread,
)
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.supervise import Bell
from channels.slack.client import library_log
from channels.slack.directory import Directory, Me, PersonFact, PlaceFact, mentioned
from channels.slack.interactions import Interactions, where_opened
from channels.slack.keys import ref, target_of
from channels.slack.mapping import Mapper
from channels.slack.mark import Mark
from channels.slack.state import State
from channels.slack.threads import Threads

log = logging.getLogger(__name__)

Payload = Mapping[str, Any]
_ANY = re.compile(".*", re.DOTALL)
_INTERACTIONS = ("block_actions", "message_action", "view_submission")
_PLACE_NEWS = ("channel_", "group_", "member_")


class Receiver:
    """Maps and hands over. Holds the verified identity: without it nothing is looked at.

    `on_assistant` is called when a person opens a thread in the assistant view, `on_new` after a message was accepted
    for the first time, with its thread's root.
    """

    def __init__(
        self,
        me: Me,
        directory: Directory,
        threads: Threads,
        mark: Mark,
        inbox: Inbox,
        clock: Clock,
        state: State,
        limit: int,
        gap: Bell,
        on_assistant: Callable[[str, str], None],
        on_new: Callable[[MessageReceived, str], None],
    ) -> None:
        self._me = me
        self._directory = directory
        self._threads = threads
        self._mark = mark
        self._inbox = inbox
        self._clock = clock
        self._state = state
        self._gap = gap
        self._on_assistant = on_assistant
        self._on_new = on_new
        self._joined: set[tuple[str, str]] = set()
        self._sides: tuple[str, Mapping[str, bool]] = ("", {})
        """The channel of the event that is being mapped; people of the roster in it, and whether they are of the
        company."""
        self._mapper = Mapper(me, self, limit)
        self._interactions = Interactions(me, self, limit)
        self._app = self._bolt()

    async def dispatch(self, request: SocketModeRequest) -> BoltResponse:
        """Run one envelope through Bolt. The answer is 200 only if it may be acknowledged."""
        if request.type == "interactive" and request.payload.get("type") not in _INTERACTIONS:
            return BoltResponse(status=200, body="")  # menus and steps that we never made, forms that were closed
        try:
            response: BoltResponse = await run_async_bolt_app(self._app, request)
        except (AttributeError, KeyError, TypeError, ValueError):
            # What the library itself trips over would only come again and again.
            log.exception("a payload of Slack cannot be dispatched and is passed over")
            return BoltResponse(status=200, body="")
        return response

    # --- facts for the mapper --------------------------------------------------------------------------------------

    def person(self, user: str) -> PersonFact | None:
        return self._directory.person(user)

    def name(self, user: str) -> str | None:
        return self._me.name if user == self._me.user else self._directory.name(user)

    @property
    def company(self) -> str | None:
        return self._directory.company

    def place(self, channel: str) -> PlaceFact | None:
        found = self._directory.place(channel)
        return found if found is None else replace(found, insiders=self._insiders(channel, found))

    def _insiders(self, channel: str, place: PlaceFact) -> bool | None:
        """Whether all of a channel are of the company; None where that is not known of one of them."""
        if self.company is None or place.kind is PlaceKind.DIRECT:
            return None
        if place.partners:
            return False
        of, sides = self._sides
        if place.accounts is None or of != channel:
            return None
        told = [self._insider(user, sides) for user in place.accounts if user != self._me.user]
        return False if False in told else None if None in told else True

    def _insider(self, user: str, sides: Mapping[str, bool]) -> bool | None:
        known = self._directory.person(user)
        if user in sides:
            return sides[user]
        return None if known is None else known.full and known.team == self.company

    def is_ours(self, channel: str, root: str) -> bool:
        return self._threads.has(channel, root) or (channel, root) in self._joined

    # --- reading and committing ------------------------------------------------------------------------------------

    async def read(self, event: Payload, event_id: str | None) -> tuple[InboundEvent, ...]:
        """Map an inner event. What concerns the executive is worth asking who and where; the rest costs no request."""
        await self._take_part(event)
        return await self._informed(lambda: self._mapper.event(event, event_id), event)

    async def read_edit(self, message: Payload, channel: str) -> tuple[InboundEvent, ...]:
        await self._take_part({**message, "channel": channel})
        return self._map(lambda: self._mapper.edit_of(message, channel))

    async def commit(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        """Hand events over, and with them what has to be remembered: the thread they are in, else how far all was
        received. Raises `TransientError` if the store cannot take them; then a gap is open."""
        note = None if cursor is not None else await self._note(events)
        now = self._clock.now()
        due = cursor or (note[1] if note else None) or self._mark.due(now)
        if not events and due is None:
            return ()
        try:
            answers = await self._inbox.accept(events, due)
        except TransientError:
            self._mark.gap(now)
            self._gap.ring()
            raise
        if note is not None:
            self._threads.settle(*note)
        elif due is not None and due is not cursor:
            self._mark.written(due)
        for event, answer in zip(events, answers, strict=True):
            if answer is Accepted.NEW and isinstance(event, MessageReceived):
                self._on_new(event, target_of(event.reply_path.thread).root or "")
        return answers

    async def _note(self, events: Sequence[InboundEvent]) -> tuple[str, Cursor] | None:
        """The thread of the last message that a person of the roster addressed to us."""
        for event in reversed(events):
            if not isinstance(event, MessageReceived | CommandInvoked) or not isinstance(event.thread, Thread):
                continue
            target = target_of(event.thread.key)
            addressed = event.addressed if isinstance(event, MessageReceived) else Addressed.MENTION
            if target.root is None or addressed is Addressed.NOT:
                continue
            if not await self._inbox.is_known(event.sender.address):
                continue
            await self._threads.load(self._inbox, target.channel)
            cursor = self._threads.noted(target.channel, target.root, f"{event.sent_at.timestamp():.6f}")
            if cursor is not None:
                return target.channel, cursor
        return None

    async def _take_part(self, event: Payload) -> None:
        """Find out whether the thread of this message is ours: by our own record, else because its first message is
        in a conversation of its writer's with us."""
        channel, root = event.get("channel"), event.get("thread_ts")
        if not isinstance(channel, str) or not root or root == event.get("ts"):
            return
        await self._threads.load(self._inbox, channel)
        parent = event.get("parent_user_id")
        if not parent or parent == self._me.user or self.is_ours(channel, str(root)):
            return
        if await self._inbox.participates([ref(self._me.team, channel, str(root))], str(parent)):
            self._joined.add((channel, str(root)))

    async def _informed(
        self, mapping: Callable[[], tuple[InboundEvent, ...]], event: Payload
    ) -> tuple[InboundEvent, ...]:
        events = self._map(mapping)
        if not any(_concerns(one) for one in events):
            return events
        channel = event.get("channel") or event.get("channel_id")
        channel = channel.get("id") if isinstance(channel, Mapping) else channel
        user = event.get("user") or event.get("user_id")
        user = user.get("id") if isinstance(user, Mapping) else user
        users = [str(user)] if user else []
        # A direct conversation is what its id says; everywhere else it matters who reads along.
        places = [] if not channel or str(channel).startswith("D") else [str(channel)]
        await self._directory.learn([*users, *mentioned(str(event.get("text") or ""))], places)
        known = self._directory.place(places[0]) if places else None
        sides = await self._inbox.sides(known.accounts) if known is not None and known.accounts else {}
        self._sides = (places[0] if places else "", sides)
        try:
            return self._map(mapping)
        finally:
            self._sides = ("", {})

    def _map(self, mapping: Callable[[], tuple[InboundEvent, ...]]) -> tuple[InboundEvent, ...]:
        try:
            return mapping()
        except (AttributeError, KeyError, TypeError, ValueError):
            # One payload of a shape nobody foresaw must not come again and again.
            log.exception("a payload of Slack cannot be mapped and is passed over")
            return ()

    # --- Bolt ------------------------------------------------------------------------------------------------------

    def _bolt(self) -> AsyncApp:
        me = self._me

        async def authorize() -> AuthorizeResult:
            # Already verified. Bolt's own check would answer 200, and so acknowledge, when it fails.
            return AuthorizeResult(enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot)

        app = AsyncApp(
            logger=library_log(),
            name="openexecutive",
            authorize=authorize,
            process_before_response=True,
            raise_error_for_unhandled_request=True,
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
            ssl_check_enabled=False,
            url_verification_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )
        app.event(_ANY)(self._on_event)
        app.command(_ANY)(self._on_command)
        app.shortcut(_ANY)(self._on_shortcut)
        app.action(_ANY)(self._on_action)
        app.view_submission(_ANY)(self._on_form)
        app.error(self._on_error)
        return app

    async def _on_event(self, body: dict[str, Any]) -> None:
        event = body["event"]
        self._notice(event)
        events = await self.read(event, str(body.get("event_id") or "") or None)
        await self.commit(events)

    async def _on_command(self, ack: Callable[[], Awaitable[Any]], body: dict[str, Any]) -> None:
        await self.commit(await self._informed(lambda: self._interactions.slash(body, self._clock.now()), body))
        await ack()

    async def _on_shortcut(self, ack: Callable[[], Awaitable[Any]], body: dict[str, Any]) -> None:
        await self.commit(await self._informed(lambda: self._interactions.shortcut(body, self._clock.now()), body))
        await ack()

    async def _on_action(self, ack: Callable[[], Awaitable[Any]], body: dict[str, Any]) -> None:
        await self.commit(await self._informed(lambda: self._interactions.press(body, self._clock.now()), body))
        await ack()

    async def _on_form(self, ack: Callable[[], Awaitable[Any]], body: dict[str, Any]) -> None:
        try:
            where = {**body, "channel": where_opened(body)}
        except (KeyError, TypeError, ValueError):
            log.exception("a form of Slack cannot be read and is passed over")
        else:
            await self.commit(await self._informed(lambda: self._interactions.submit(body, self._clock.now()), where))
        await ack()

    async def _on_error(self, error: Exception) -> BoltResponse:
        if isinstance(error, BoltUnhandledRequestError):
            return BoltResponse(status=200, body="")
        if isinstance(error, TransientError):
            log.warning("slack: an event could not be stored and is left to come again: %s", error.message)
        else:
            log.error("slack: an event failed", exc_info=error)
        return BoltResponse(status=503, body="")

    def _notice(self, event: Payload) -> None:
        """What is about the app or the platform, and no event of the gateway."""
        kind = str(event.get("type") or "")
        if kind == "tokens_revoked":
            # Those of members are theirs alone; only the bot's own takes the app away.
            if self._me.user in ((event.get("tokens") or {}).get("bot") or ()):
                self._state.died("token_revoked")
        elif kind == "app_uninstalled":
            self._state.died("app_uninstalled")
        elif kind == "assistant_thread_started":
            thread = event.get("assistant_thread") or {}
            self._on_assistant(str(thread.get("channel_id")), str(thread.get("thread_ts")))
        elif kind.startswith(_PLACE_NEWS):
            channel = event.get("channel")
            self._directory.forget_place(str(channel.get("id") if isinstance(channel, Mapping) else channel))


def _concerns(event: InboundEvent) -> bool:
    return not (isinstance(event, MessageReceived | MessageEdited) and event.addressed is Addressed.NOT)
