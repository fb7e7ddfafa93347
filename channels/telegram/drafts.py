"""Signs that an answer is being written: the platform's message drafts in private chats, typing elsewhere.

Best effort: nothing here is retried, and when the platform asks for quiet in a chat everything for that chat is
dropped until the time has passed; the caller comes back with newer text.
"""

from __future__ import annotations

import hashlib
import logging
from datetime import timedelta

from telegram.constants import ChatAction, ParseMode
from telegram.error import RetryAfter, TelegramError

from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.ids import TurnId
from bot.kernel.values import dataclass
from channels.telegram.client import Client
from channels.telegram.errors import translate
from channels.telegram.keys import Target
from channels.telegram.render import draft_text

log = logging.getLogger(__name__)

TYPING_LASTS = timedelta(seconds=4)
"""A typing action is shown for 5 seconds (Bot API, sendChatAction)."""
_REMEMBERED = 1000


@dataclass(slots=True)
class _Chat:
    quiet_until: float = 0.0
    typed_at: float | None = None
    turn: TurnId | None = None
    full: bool = False
    shown: str = ""


class Drafts:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._chats: dict[Target, _Chat] = {}

    async def show(self, target: Target, turn: TurnId, text: str | None) -> None:
        chat = self._chat(target)
        now = self._clock.monotonic()
        if now < self._quiet_until(target):
            return
        try:
            if text and target.is_private:
                await self._draft(target, chat, turn, text)
            elif chat.typed_at is None or now - chat.typed_at >= TYPING_LASTS.total_seconds():
                chat.typed_at = now
                await self._client.send_chat_action(target.chat, ChatAction.TYPING, message_thread_id=target.topic)
        except RetryAfter as error:
            self.hush(target, error)
        except TelegramError as error:
            log.debug("no draft in %s: %s", target.chat, error.message)

    def hush(self, target: Target, error: RetryAfter) -> None:
        """Keep quiet in this chat as long as the platform asked for."""
        failure = translate(error)
        wait = failure.retry_after if isinstance(failure, TransientError) else None
        chat = self._chat(Target(target.chat))
        chat.quiet_until = self._clock.monotonic() + (wait or timedelta()).total_seconds()

    def _quiet_until(self, target: Target) -> float:
        whole = self._chats.get(Target(target.chat))
        return whole.quiet_until if whole else 0.0

    async def _draft(self, target: Target, chat: _Chat, turn: TurnId, text: str) -> None:
        if chat.turn != turn:
            chat.turn, chat.full, chat.shown = turn, False, ""
        if chat.full:
            return
        shown, chat.full = draft_text(text)
        if not shown or shown == chat.shown:
            return
        chat.shown = shown
        await self._client.send_message_draft(
            target.chat, _draft_id(turn), shown, message_thread_id=target.topic, parse_mode=ParseMode.HTML
        )

    def _chat(self, target: Target) -> _Chat:
        found = self._chats.get(target)
        if found is None:
            while len(self._chats) >= _REMEMBERED:
                del self._chats[next(iter(self._chats))]
            found = self._chats[target] = _Chat()
        return found


def _draft_id(turn: TurnId) -> int:
    """A number of the turn's own, not zero and within 31 bits (Bot API, sendMessageDraft)."""
    return int.from_bytes(hashlib.sha256(turn.encode()).digest()[:4], "big") % (2**31 - 1) + 1
