"""Signs that an answer is being written: the placeholder that grows, and the assistant view's status line.

Best effort: nothing here is retried. An edit is made at most once a second in a conversation (Slack, rate limits of
posting), and when the platform asks for quiet there, nothing is until the time has passed; the caller comes back with
newer text. An edit that has begun is let go to its end before the final one is made, so that it cannot come after it.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from channels.slack.client import Client
from channels.slack.errors import Failure, code_of, translate
from channels.slack.keys import Target, message_of
from channels.slack.render import blocks, draft_text
from channels.slack.state import State

log = logging.getLogger(__name__)

EVERY = timedelta(seconds=1)
STATUS_EVERY = timedelta(seconds=20)
STATUS = "is thinking…"
PATIENCE = timedelta(seconds=5)
_REMEMBERED = 1000


@dataclass(slots=True)
class _Place:
    quiet_until: float = 0.0
    edited_at: float | None = None
    status_at: float | None = None
    no_status: bool = False


@dataclass(slots=True)
class _Message:
    shown: str = ""
    full: bool = False
    final: bool = False
    running: asyncio.Task[None] | None = None


class Drafts:
    def __init__(self, client: Client, clock: Clock, supervisor: Supervisor, state: State) -> None:
        self._client = client
        self._clock = clock
        self._supervisor = supervisor
        self._state = state
        self._places: dict[str, _Place] = {}
        self._messages: dict[str, _Message] = {}

    async def show(self, target: Target, text: str | None, ref: str | None) -> None:
        place = self._place(target.channel)
        now = self._clock.monotonic()
        if now < place.quiet_until:
            return
        if text and ref is not None:
            await self._grow(place, ref, text, now)
        elif not text and ref is None and target.is_direct and target.root:
            await self._status(place, target.channel, target.root, now)

    def hush(self, channel: str, wait: timedelta | None) -> None:
        """Keep quiet in this conversation as long as the platform asked for."""
        self._place(channel).quiet_until = self._clock.monotonic() + (wait or timedelta(seconds=30)).total_seconds()

    async def settle(self, ref: str) -> None:
        """No more drafts of this message; return when the one under way has ended."""
        message = self._message(ref)
        message.final = True
        if message.running is not None:
            await asyncio.wait({message.running}, timeout=PATIENCE.total_seconds())

    async def _grow(self, place: _Place, ref: str, text: str, now: float) -> None:
        message = self._message(ref)
        if message.full or message.final or (message.running is not None and not message.running.done()):
            return
        if place.edited_at is not None and now - place.edited_at < EVERY.total_seconds():
            return
        form, plain, message.full = draft_text(text)
        if not form or form == message.shown:
            return
        place.edited_at, message.shown = now, form
        message.running = self._supervisor.job(f"slack draft {ref}", self._edit(ref, form, plain))
        await asyncio.wait({message.running})

    async def _edit(self, ref: str, form: str, plain: str) -> None:
        channel, ts = message_of(ref)
        sections = blocks(form)
        try:
            await self._client.web.chat_update(
                channel=channel, ts=ts, text=plain if sections else form, blocks=sections or [], link_names=False
            )
        except Failure as error:
            self._failed(channel, error)

    async def _status(self, place: _Place, channel: str, root: str, now: float) -> None:
        recent = place.status_at is not None and now - place.status_at < STATUS_EVERY.total_seconds()
        if place.no_status or recent:
            return
        place.status_at = now
        try:
            await self._client.web.assistant_threads_setStatus(channel_id=channel, thread_ts=root, status=STATUS)
        except Failure as error:
            place.no_status = bool(code_of(error)) and code_of(error) != "ratelimited"
            self._failed(channel, error)

    async def title(self, channel: str, root: str, title: str) -> None:
        """Name a thread of the assistant view."""
        try:
            await self._client.web.assistant_threads_setTitle(channel_id=channel, thread_ts=root, title=title)
        except Failure as error:
            self._failed(channel, error)

    def _failed(self, channel: str, error: BaseException) -> None:
        self._state.saw(error)
        failure = translate(error, effect=False)
        if isinstance(failure, TransientError) and failure.retry_after is not None:
            self.hush(channel, failure.retry_after)
        log.debug("slack: no draft in %s: %s", channel, failure.message)

    def _place(self, channel: str) -> _Place:
        if channel not in self._places:
            while len(self._places) >= _REMEMBERED:
                del self._places[next(iter(self._places))]
            self._places[channel] = _Place()
        return self._places[channel]

    def _message(self, ref: str) -> _Message:
        if ref not in self._messages:
            while len(self._messages) >= _REMEMBERED:
                del self._messages[next(iter(self._messages))]
            self._messages[ref] = _Message()
        return self._messages[ref]
