"""Thread keys and refs of this channel, made and read in one place. Pure.

`slack:<team>:<conversation>:<root ts>` is a thread, `slack:<team>:<conversation>` the conversation itself; a message's
ref is `slack:<team>:<conversation>:<ts>`. A `ts` is a decimal string and stays one: it is an id, not a number.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

NAME = "slack"
_TS = re.compile(r"\d{1,12}\.\d{1,9}")


@dataclass(frozen=True, slots=True)
class Target:
    channel: str
    """Conversation id."""
    root: str | None = None
    """`ts` of the thread's first message: the only thing that may be sent as `thread_ts`."""

    @property
    def is_direct(self) -> bool:
        return self.channel.startswith("D")


def place_key(team: str, channel: str) -> str:
    return f"{NAME}:{team}:{channel}"


def thread_key(team: str, channel: str, root: str | None) -> str:
    return place_key(team, channel) if root is None else f"{NAME}:{team}:{channel}:{root}"


def ref(team: str, channel: str, ts: str) -> str:
    return f"{NAME}:{team}:{channel}:{ts}"


def target_of(thread: str) -> Target:
    """Read a thread key. Raises `PermanentError` if it is none of this channel's."""
    name, *parts = thread.split(":")
    if name != NAME or len(parts) not in (2, 3) or not parts[1] or (len(parts) == 3 and not _TS.fullmatch(parts[2])):
        raise PermanentError(f"{thread} is no Slack thread")
    return Target(parts[1], parts[2] if len(parts) == 3 else None)


def message_of(message_ref: str) -> tuple[str, str]:
    """(conversation, ts) of a ref. Raises `PermanentError` if it is none of this channel's."""
    name, *parts = message_ref.split(":")
    if name != NAME or len(parts) < 3 or not _TS.fullmatch(parts[2]):
        raise PermanentError(f"{message_ref} names no Slack message")
    return parts[1], parts[2]


@dataclass(frozen=True, slots=True)
class Pressed:
    """Handle for an answer to a press: what opens a form, where the button stands, and the address for words."""

    trigger: str
    """Good for one form within three seconds (Slack, `trigger_id`)."""
    channel: str
    root: str
    """Empty outside of threads."""
    ts: str
    url: str

    def __str__(self) -> str:
        return "|".join(("press", self.trigger, self.channel, self.root, self.ts, self.url))

    @staticmethod
    def read(response: str) -> Pressed | None:
        """None for handles that are an address alone."""
        kind, *parts = response.split("|", 5)
        return Pressed(*parts) if kind == "press" and len(parts) == 5 else None


def instant(ts: str) -> datetime:
    """When a message was written. Raises `ValueError` if `ts` is none."""
    if not _TS.fullmatch(ts):
        raise ValueError(f"{ts!r} is no ts")
    return datetime.fromtimestamp(float(ts), UTC)


def stamp(at: datetime) -> str:
    """The `ts` of an instant, as a bound in queries."""
    return f"{at.timestamp():.6f}"
