"""The model port: one streaming call, its request and its events.

A request is complete in itself: an adapter keeps no conversation. Content is a closed union of blocks, in the shapes
that the Messages API gives them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from enum import StrEnum
from typing import Literal, Protocol

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass


class CacheMark(StrEnum):
    """How long the provider may keep everything up to the marked block."""

    SHORT = "5m"
    LONG = "1h"


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    cache: CacheMark | None = None
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Image:
    media_type: str
    data: bytes = field(repr=False)
    cache: CacheMark | None = None
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class ToolUse:
    id: str
    name: str
    input: Mapping[str, object]
    kind: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True, slots=True)
class ToolResult:
    tool_use_id: str
    text: str
    is_error: bool = False
    cache: CacheMark | None = None
    kind: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True)
class Thinking:
    """Opaque to us; must go back unchanged while its tool calls are being answered."""

    text: str
    signature: str
    redacted: bool = False
    kind: Literal["thinking"] = "thinking"


Block = Text | Image | ToolUse | ToolResult | Thinking


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    input_schema: Mapping[str, object]
    text: str = field(init=False, repr=False, compare=False)
    """All of it as JSON, made once: every request is measured, sent and kept with its tools."""

    def __post_init__(self) -> None:
        whole = {"name": self.name, "description": self.description, "input_schema": dict(self.input_schema)}
        object.__setattr__(self, "text", json.dumps(whole, ensure_ascii=False, separators=(",", ":")))


class Effort(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Request:
    model: str
    system: tuple[Text, ...]
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 4096
    thinking: bool = False
    effort: Effort | None = None
    must_call: str | None = None
    """The tool that the answer has to be a call of; not together with `thinking`."""
    deadline: timedelta = timedelta(minutes=5)
    """The whole call, retries included."""


class StopReason(StrEnum):
    END_TURN = "end_turn"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    CONTEXT_EXCEEDED = "model_context_window_exceeded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_written + other.cache_written,
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The answer begins again from nothing (a retry after part of it had been streamed): drop what was shown."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream that ended by the rules. Without it the answer is not complete."""

    content: tuple[Block, ...]
    stop: StopReason
    usage: Usage
    model: str
    """The model that answered (the fallback's name if it was used)."""
    detail: str = ""
    """The reason as the provider spelled it, if it is `UNKNOWN`."""


Event = TextDelta | Restarted | Finished


class ContextTooLongError(PermanentError):
    """The request does not fit the model. Shorten the history and ask again."""


class BadRequestError(PermanentError):
    """The provider refused the request's form; asking again unchanged is pointless."""


class BadImageError(BadRequestError):
    """The provider refused an image; `index` counts the request's images from 0, None if it did not say which."""

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


class CredentialsError(PermanentError):
    """Key missing, refused or without the right for this model."""


@dataclass(frozen=True, slots=True)
class ModelHealth:
    ok: bool
    reason: str | None = None


class Model(Protocol):
    @property
    def provider(self) -> str:
        """`anthropic` or `offline`."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """Ask once; `Finished` comes last and exactly once, or an error is raised.

        Raises `TransientError` when retries within the deadline did not help, otherwise one of the permanent errors
        above. Closing the iterator stops the call.
        """
        ...

    def health(self) -> ModelHealth:
        """What the last calls said; makes no call itself."""
        ...

    async def close(self) -> None: ...


def images(messages: Sequence[Message]) -> int:
    """How many images a request carries."""
    return sum(isinstance(block, Image) for message in messages for block in message.content)
