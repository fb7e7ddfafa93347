"""Showing that an answer is being written. Best effort: nothing here may hold up or harm the answer itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from bot.gateway.channel import DRAFT_INTERVAL, Channel
from bot.gateway.events import ReplyPath
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import TurnId
from bot.kernel.supervise import attempt, cancel, start

StandIn = Callable[[], Awaitable[Callable[[], Awaitable[str | None]]]]

FIRST_SIGN = timedelta(milliseconds=400)
"""An answer that is there sooner needs no sign of life."""
SIGN_INTERVAL = timedelta(seconds=4)
"""Telegram shows "typing" for five seconds (Bot API sendChatAction); other platforms for longer."""


class Drafter:
    """Offers the text so far to the channel at a bounded pace while the block runs.

    Where the channel has a placeholder, `stand_in` is called once, when the answer takes longer than `FIRST_SIGN`, and
    gives a function that tells the placeholder's ref as soon as it is sent. `clean` makes of what the model wrote so
    far what may leave.
    """

    def __init__(
        self,
        channel: Channel,
        path: ReplyPath,
        turn: TurnId,
        clock: Clock,
        stand_in: StandIn,
        clean: Callable[[str], Awaitable[str]],
    ) -> None:
        self._channel = channel
        self._path = path
        self._turn = turn
        self._clock = clock
        self._stand_in = stand_in
        self._clean = clean
        self._parts: list[str] = []
        self._new = False
        self._task: asyncio.Task[None] | None = None

    def show(self, text: str | None) -> None:
        """Another piece of text; None: what was shown is void, the next piece replaces it."""
        if text is None:
            self._parts.clear()
        else:
            self._parts.append(text)
        self._new = True

    async def __aenter__(self) -> Self:
        self._task = start(f"draft:{self._turn}", self._show())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await cancel(self._task)

    async def _show(self) -> None:
        await self._clock.sleep(FIRST_SIGN)
        try:
            await attempt(self._keep_showing(), f"draft of {self._turn}")
        except OpenExecutiveError:
            return

    async def _keep_showing(self) -> None:
        find_ref = await self._stand_in() if self._channel.placeholder is not None else None
        ref: str | None = None
        while True:
            if find_ref is not None and ref is None:
                ref = await find_ref()
            if find_ref is None or ref is not None:
                new, self._new = self._new, False
                text = await self._clean("".join(self._parts)) if new and self._parts else None
                await self._channel.draft(self._path, self._turn, text, ref)
            waited = DRAFT_INTERVAL
            await self._clock.sleep(DRAFT_INTERVAL)
            while not self._new and waited < SIGN_INTERVAL:
                await self._clock.sleep(DRAFT_INTERVAL)
                waited += DRAFT_INTERVAL
