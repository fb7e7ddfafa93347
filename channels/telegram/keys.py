"""Thread keys and refs of this channel, made and read in one place. Pure."""

from __future__ import annotations

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

NAME = "telegram"


@dataclass(frozen=True, slots=True)
class Target:
    chat: int
    topic: int | None = None
    """Forum topic, never the General one (it takes no message_thread_id)."""

    @property
    def is_private(self) -> bool:
        """Private chats have the user's id, all others negative ones (Bot API, Chat.id)."""
        return self.chat > 0


def thread_key(chat: int, topic: int | None) -> str:
    return f"{NAME}:{chat}" if topic is None else f"{NAME}:{chat}:{topic}"


def place_key(chat: int) -> str:
    return f"{NAME}:{chat}"


def ref(chat: int, message_id: int) -> str:
    return f"{NAME}:{chat}:{message_id}"


def target_of(thread: str) -> Target:
    """Read a thread key. Raises `PermanentError` if it is none of this channel's."""
    chat, topic = _numbers(thread)
    return Target(chat, topic)


def message_of(message_ref: str) -> tuple[int, int]:
    """(chat, message id) of a ref. Raises `PermanentError` if it is none of this channel's."""
    chat, message = _numbers(message_ref)
    if message is None:
        raise PermanentError(f"{message_ref} names no Telegram message")
    return chat, message


def _numbers(key: str) -> tuple[int, int | None]:
    name, *parts = key.split(":")
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        numbers = []
    if name != NAME or len(numbers) not in (1, 2):
        raise PermanentError(f"{key} is no Telegram thread")
    return numbers[0], numbers[1] if len(numbers) == 2 else None
