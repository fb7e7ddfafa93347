"""Showing that an answer is being written. Best effort: nothing here may hold up or harm the answer itself."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Self

from bot.gateway.channel import DRAFT_INTERVAL, Channel
from bot.gateway.events import ReplyPath
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import TurnId
from bot.kernel.supervise import attempt, cancel, start

FIRST_SIGN = timedelta(milliseconds=400)
"""An answer that is there sooner needs no sign of life."""
SIGN_INTERVAL = timedelta(seconds=4)
"""Telegram shows "typing" for five seconds (Bot API sendChatAction); other platforms for longer."""


class Drafter:
    """Offers the text so far to the channel at a bounded pace while the block runs."""

    def __init__(self, channel: Channel, path: ReplyPath, turn: TurnId, clock: Clock) -> None:
        self._channel = channel
        self._path = path
        self._turn = turn
        self._clock = clock
        self._parts: list[str] = []
        self._new = False
        self._task: asyncio.Task[None] | None = None

    def add(self, text: str) -> None:
        self._parts.append(text)
        self._new = True

    def restart(self) -> None:
        """What was shown is void; the next text replaces it."""
        self._parts.clear()
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
        while True:
            text = "".join(self._parts) if self._new and self._parts else None
            self._new = False
            try:
                await attempt(self._channel.draft(self._path, self._turn, text), "draft")
            except OpenExecutiveError:
                return
            waited = timedelta()
            while not self._new and waited < SIGN_INTERVAL:
                await self._clock.sleep(DRAFT_INTERVAL)
                waited += DRAFT_INTERVAL
            if waited < DRAFT_INTERVAL:
                await self._clock.sleep(DRAFT_INTERVAL)
