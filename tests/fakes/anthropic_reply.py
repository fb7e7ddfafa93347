"""What the scripted model says, and how it looks on the wire.

`Reply` is the model's answer with the faults of its stream; `message` renders it whole, `events` as the server-sent
events of a stream. Pure: no I/O. Source: the public Messages API reference (Messages, Streaming Messages).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

JsonObject = dict[str, Any]

HTTP_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
ERROR_TYPE = {status: name for name, status in HTTP_STATUS.items()}


@dataclass(frozen=True)
class Text:
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True)
class ToolUse:
    """A tool call. `partial`, when set, is the JSON that was written before the output ran out (max_tokens)."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    partial: str | None = None
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True)
class Thinking:
    thinking: str
    type: Literal["thinking"] = "thinking"

    @property
    def signature(self) -> str:
        return signature(self.thinking)


Block = Text | ToolUse | Thinking


@dataclass(frozen=True)
class Usage:
    """Token counts; the three input counts add up to the whole input."""

    input_tokens: int = 10
    output_tokens: int = 10
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


@dataclass(frozen=True)
class ErrorInStream:
    """An `error` event after `after` deltas, inside the 200 response; nothing follows."""

    error: str = "overloaded_error"
    message: str = "Overloaded"
    after: int = 1
    type: Literal["error"] = "error"


@dataclass(frozen=True)
class CutStream:
    """The connection is reset after `after` deltas."""

    after: int = 1
    type: Literal["cut"] = "cut"


@dataclass(frozen=True)
class EndEarly:
    """The response ends properly after `after` deltas (None: after all), but no `message_stop` was said."""

    after: int | None = None
    type: Literal["end_early"] = "end_early"


StreamFault = ErrorInStream | CutStream | EndEarly


@dataclass(frozen=True)
class ErrorStatus:
    """An error response instead of an answer; `retry_after` (seconds) becomes the header."""

    status: int
    error: str | None = None
    message: str = "scripted"
    retry_after: int | None = None


@dataclass(frozen=True)
class Reply:
    """One answer of the model.

    `stop_reason` None means `tool_use` with a tool call in it, else `end_turn`; any string goes out as it is.
    `usage` None is worked out from the request. A delta carries `chunk` characters (0: a whole block); `pace` seconds
    pass between deltas; before delta k (from 0) the stream waits for the gate `gates[k]`. `delay` seconds or `gate`
    hold the whole response.
    """

    blocks: tuple[Block, ...] = ()
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    error: ErrorStatus | None = None
    fault: StreamFault | None = None
    chunk: int = 24
    pace: float = 0.0
    gates: dict[int, str] = field(default_factory=dict)
    delay: float = 0.0
    gate: str | None = None

    @property
    def stopped_by(self) -> str:
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(block, ToolUse) for block in self.blocks) else "end_turn"


REPLIES: TypeAdapter[tuple[Reply, ...]] = TypeAdapter(tuple[Reply, ...])


def say(text: str, **more: Any) -> Reply:
    """A plain text reply."""
    return Reply((Text(text),), **more)


def signature(thinking: str) -> str:
    """The signature that this model puts under a thinking block, and wants back unchanged."""
    return "sig" + hashlib.sha256(thinking.encode()).hexdigest()


def error_body(kind: str, message: str, request_id: str = "req_fake") -> JsonObject:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def message(reply: Reply, message_id: str, model: str, usage: Usage) -> JsonObject:
    """The whole `Message`, as a call without streaming gets it."""
    blocks = [_block(block, f"{message_id}_{index}") for index, block in enumerate(reply.blocks)]
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": reply.stopped_by,
        "stop_sequence": reply.stop_sequence,
        "usage": _usage(usage),
    }


@dataclass(frozen=True)
class Event:
    """One server-sent event; `is_delta` marks those that stream faults, gates and pace count."""

    name: str
    data: JsonObject

    @property
    def is_delta(self) -> bool:
        return self.name == "content_block_delta"

    def encode(self) -> bytes:
        return f"event: {self.name}\ndata: {json.dumps(self.data)}\n\n".encode()


def _event(name: str, **data: Any) -> Event:
    return Event(name, {"type": name, **data})


def events(reply: Reply, message_id: str, model: str, usage: Usage) -> Iterator[Event]:
    """All events of an undisturbed stream, in order."""
    start = message(Reply(), message_id, model, usage)
    start |= {"stop_reason": None, "content": [], "usage": {**_usage(usage), "output_tokens": 1}}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(reply.blocks):
        yield _event("content_block_start", index=index, content_block=_opening(block, f"{message_id}_{index}"))
        for delta in _deltas(block, reply.chunk):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event(
        "message_delta",
        delta={"stop_reason": reply.stopped_by, "stop_sequence": reply.stop_sequence},
        usage=_usage(usage),
    )
    yield _event("message_stop")


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
    }


def _block(block: Block, block_id: str) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text, "citations": None}
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
    shown = {} if block.partial is not None else block.input
    return {"type": "tool_use", "id": block.id or f"toolu_{block_id}", "name": block.name, "input": shown}


def _opening(block: Block, block_id: str) -> JsonObject:
    empty: dict[str, JsonObject] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return _block(block, block_id) | empty[block.type]


def _deltas(block: Block, chunk: int) -> Iterator[JsonObject]:
    if isinstance(block, Text):
        for part in _chunks(block.text, chunk):
            yield {"type": "text_delta", "text": part}
    elif isinstance(block, Thinking):
        for part in _chunks(block.thinking, chunk):
            yield {"type": "thinking_delta", "thinking": part}
        yield {"type": "signature_delta", "signature": block.signature}
    else:
        written = json.dumps(block.input) if block.partial is None else block.partial
        yield {"type": "input_json_delta", "partial_json": ""}
        for part in _chunks(written, chunk):
            yield {"type": "input_json_delta", "partial_json": part}


def _chunks(text: str, size: int) -> Iterator[str]:
    if size <= 0:
        yield text
        return
    for start in range(0, len(text), size):
        yield text[start : start + size]
