"""Thread keys, refs and ids of this channel, made and read in one place. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

NAME = "discord"
_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a thread key leads: a channel or thread of a guild, or a person's direct messages."""

    guild: int | None = None
    channel: int | None = None
    user: int | None = None


def thread_key(guild: int, channel: int) -> str:
    """Of a thread, or of a channel that is answered in place."""
    return f"{NAME}:{guild}:{channel}"


def direct_key(user: int | str) -> str:
    return f"{NAME}:dm:{user}"


def ref(channel: int, message: int) -> str:
    """A message is reached through its channel, so a ref names both."""
    return f"{NAME}:{channel}:{message}"


def message_key(message: int) -> str:
    return f"{NAME}:{message}"


def cursor_name(channel: int) -> str:
    return f"{NAME}:{channel}"


def target_of(thread: str) -> Target:
    """Read a thread key. Raises `PermanentError` if it is none of this channel's."""
    parts = thread.split(":")
    if len(parts) == 3 and parts[0] == NAME and parts[2].isascii() and parts[2].isdigit():
        if parts[1] == "dm":
            return Target(user=int(parts[2]))
        if parts[1].isascii() and parts[1].isdigit():
            return Target(guild=int(parts[1]), channel=int(parts[2]))
    raise PermanentError(f"{thread} is no Discord thread")


def message_of(message_ref: str) -> tuple[int, int]:
    """(channel, message id) of a ref. Raises `PermanentError` if it is none of this channel's."""
    target = target_of(message_ref)
    if target.guild is None or target.channel is None:
        raise PermanentError(f"{message_ref} names no Discord message")
    return target.guild, target.channel


def time_of(snowflake: int) -> datetime:
    """When the platform made this id (Discord, Snowflakes: milliseconds since 2015 above 22 bits)."""
    return _EPOCH + timedelta(milliseconds=snowflake >> 22)


def snowflake_at(when: datetime) -> int:
    """The smallest id of that instant."""
    return max(0, int((when - _EPOCH) / timedelta(milliseconds=1))) << 22


_OPENS_FORM = "form|"


def custom_id(token: str, opens_form: bool) -> str:
    """What a button carries: a press says by itself whether a form is to follow, also after a restart."""
    return _OPENS_FORM + token if opens_form else token


def token_of(custom_id: str) -> str:
    return custom_id.removeprefix(_OPENS_FORM)


def opens_form(custom_id: str) -> bool:
    return custom_id.startswith(_OPENS_FORM)
