"""How many members a group has, as the platform says it: the only evidence about who reads along that bots get."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta

from telegram.error import TelegramError

from bot.kernel.clock import Clock
from bot.kernel.supervise import Supervisor
from channels.telegram.client import Client

log = logging.getLogger(__name__)

FRESH = timedelta(minutes=5)
AFTER_FAILURE = timedelta(seconds=30)
PATIENCE = timedelta(seconds=3)
_REMEMBERED = 5000


class MemberCounts:
    def __init__(self, client: Client, clock: Clock, supervisor: Supervisor) -> None:
        self._client = client
        self._clock = clock
        self._supervisor = supervisor
        self._known: dict[int, tuple[int | None, float]] = {}

    def get(self, chat: int) -> int | None:
        """The number if it was told in the last minutes."""
        count, at = self._known.get(chat, (None, 0.0))
        return count if count is not None and self._age(at) <= FRESH else None

    def asked(self, chat: int) -> bool:
        """Whether the platform was asked so recently that asking again is no use."""
        if chat not in self._known:
            return False
        count, at = self._known[chat]
        return self._age(at) <= (FRESH if count is not None else AFTER_FAILURE)

    def _age(self, at: float) -> timedelta:
        return timedelta(seconds=self._clock.monotonic() - at)

    def forget(self, chat: int) -> None:
        self._known.pop(chat, None)

    async def refresh(self, chats: Iterable[int]) -> None:
        """Ask for those that are not known, all at once and for a few seconds at most; a failure leaves one unknown."""
        asked = [
            self._supervisor.job(f"telegram member count {chat}", self._ask(chat))
            for chat in dict.fromkeys(chats)
            if not self.asked(chat)
        ]
        if asked:
            await asyncio.wait(asked, timeout=PATIENCE.total_seconds())

    async def _ask(self, chat: int) -> None:
        count: int | None = None
        try:
            count = await self._client.get_chat_member_count(chat, read_timeout=5.0)
        except TelegramError as error:
            log.info("no member count of %s: %s", chat, error.message)
        while len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[chat] = (count, self._clock.monotonic())
