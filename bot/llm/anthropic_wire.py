"""The port's values to the Messages API's and back. Pure; the SDK is named for its types only.

Blocks map one to one and in order, so that a place named in an error finds its block again. The same request always
gives the same bytes: the provider's cache lives on that.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import field
from typing import TYPE_CHECKING, Literal, cast

from bot.kernel.values import dataclass
from bot.llm.model import (
    Block,
    CacheMark,
    Finished,
    Image,
    Message,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from bot.llm.stops import CUT_IN_TOOL_INPUT

if TYPE_CHECKING:
    from anthropic.types import (
        CacheControlEphemeralParam,
        ContentBlockParam,
        MessageParam,
        RawMessageStreamEvent,
        TextBlockParam,
        ThinkingConfigParam,
    )
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

_LEAST_THINKING = 1_024
_ADAPTIVE_SINCE = (4, 6)


class Unfinished(Exception):
    """The stream ended, but the answer did not."""


def written(request: Request, model: str) -> bytes:
    """The body of a streaming call of `model`, in JSON. The tools, most of it, were written when they were made."""
    text = json.dumps(_body(request, model), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if request.tools:
        tools = ",".join(tool.text for tool in sorted(request.tools, key=lambda tool: tool.name))
        text = f'{text[:-1]},"tools":[{tools}]}}'
    return text.encode()


def _body(request: Request, model: str) -> MessageCreateParamsStreaming:
    """All but the tools."""
    body: MessageCreateParamsStreaming = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
    }
    if request.system:
        body["system"] = [_text(block) for block in request.system]
    if request.must_call is not None:
        body["tool_choice"] = {"type": "tool", "name": request.must_call, "disable_parallel_tool_use": True}
    if request.thinking and (thinking := _thinking(request.max_tokens, model)) is not None:
        body["thinking"] = thinking
    if request.effort is not None and adaptive(model):
        body["output_config"] = {"effort": request.effort.value}
    return body


def adaptive(model: str) -> bool:
    """Whether `model` sets its own depth of thought and takes an effort: Claude since 4.6; names without a version
    (previews, other servers' models) are taken for current ones."""
    numbers = re.findall(r"(?<=-)\d{1,2}(?=-|$)", model) if model.startswith("claude-") else []
    version = (*map(int, numbers[:2]), 0)[:2]
    return not numbers or version >= _ADAPTIVE_SINCE


def _thinking(max_tokens: int, model: str) -> ThinkingConfigParam | None:
    if adaptive(model):
        return {"type": "adaptive"}
    if max_tokens <= _LEAST_THINKING:
        return None
    return {"type": "enabled", "budget_tokens": max(_LEAST_THINKING, max_tokens // 2)}


def _cache(mark: CacheMark) -> CacheControlEphemeralParam:
    return {"type": "ephemeral", "ttl": mark.value}


def _text(block: Text) -> TextBlockParam:
    sent: TextBlockParam = {"type": "text", "text": block.text}
    if block.cache:
        sent["cache_control"] = _cache(block.cache)
    return sent


def _message(message: Message) -> MessageParam:
    content = [_block(block) for block in message.content]
    if message.role == "user":
        return {"role": "user", "content": content}
    return {"role": "assistant", "content": content}


def _block(block: Block) -> ContentBlockParam:
    sent: ContentBlockParam
    match block:
        case Text():
            return _text(block)
        case Image():
            media = cast('Literal["image/jpeg", "image/png", "image/gif", "image/webp"]', block.media_type)
            data = base64.b64encode(block.data).decode("ascii")
            sent = {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
            if block.cache:
                sent["cache_control"] = _cache(block.cache)
            return sent
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
        case ToolResult():
            sent = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.text}
            if block.is_error:
                sent["is_error"] = True
            if block.cache:
                sent["cache_control"] = _cache(block.cache)
            return sent
        case Thinking(redacted=True):
            return {"type": "redacted_thinking", "data": block.signature}
        case Thinking():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}


@dataclass(slots=True)
class _Open:
    """A block that is still being written: its kind and its pieces."""

    kind: str
    id: str = ""
    name: str = ""
    given: dict[str, object] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    signature: str = ""


class Answer:
    """An answer put together from the events of a stream."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._blocks: dict[int, _Open] = {}
        self._stop: str | None = None
        self._usage: dict[str, int] = {}
        self.complete = False
        """`message_stop` was said: without it nothing of the answer may be used."""

    def feed(self, event: RawMessageStreamEvent) -> str:
        """Take `event`; the text that it adds to what a person sees, often none. Unknown events add nothing."""
        match event.type:
            case "message_start":
                self._model = event.message.model or self._model
                self._count(event.message.usage)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(event.usage)
            case "message_stop":
                self.complete = True
            case "content_block_start":
                started = event.content_block
                block = self._blocks[event.index] = _Open(started.type)
                if started.type == "tool_use":
                    block.id, block.name, block.given = started.id, started.name, dict(started.input or {})
                elif started.type == "thinking":
                    block.text.append(started.thinking or "")
                    block.signature = started.signature or ""
                elif started.type == "redacted_thinking":
                    block.signature = started.data
                elif started.type == "text" and started.text:
                    block.text.append(started.text)
                    return started.text
            case "content_block_delta":
                block = self._blocks.setdefault(event.index, _Open("text"))
                if event.delta.type == "text_delta":
                    block.text.append(event.delta.text)
                    return event.delta.text
                if event.delta.type == "input_json_delta":
                    block.json.append(event.delta.partial_json)
                elif event.delta.type == "thinking_delta":
                    block.text.append(event.delta.thinking)
                elif event.delta.type == "signature_delta":
                    block.signature += event.delta.signature
            case _:
                pass
        return ""

    def finished(self) -> Finished:
        """The whole answer. A tool call whose input was cut is left out, and `detail` then says so.

        Raises `Unfinished` if the stream did not end by the rules, or a call's input cannot be read though nothing
        cut it.
        """
        if not self.complete or self._stop is None:
            raise Unfinished("the answer broke off")
        stop, detail = _stop(self._stop)
        content: list[Block] = []
        for index in sorted(self._blocks):
            block = _closed(self._blocks[index])
            if block is not None:
                content.append(block)
            elif self._blocks[index].kind == "tool_use":
                if stop in (StopReason.TOOL_USE, StopReason.END_TURN, StopReason.STOP_SEQUENCE, StopReason.PAUSE_TURN):
                    raise Unfinished("the input of a tool call is not readable")
                detail = detail or CUT_IN_TOOL_INPUT
        return Finished(tuple(content), stop, self._sum(), self._model, detail)

    def _count(self, usage: object) -> None:
        """Counts are cumulative: later ones replace earlier ones. Other servers leave some of them out."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            if isinstance(value := getattr(usage, name, None), int):
                self._usage[name] = value

    def _sum(self) -> Usage:
        return Usage(
            input=self._usage.get("input_tokens", 0),
            output=self._usage.get("output_tokens", 0),
            cache_read=self._usage.get("cache_read_input_tokens", 0),
            cache_written=self._usage.get("cache_creation_input_tokens", 0),
        )


def _stop(reason: str) -> tuple[StopReason, str]:
    try:
        known = StopReason(reason)
    except ValueError:
        return StopReason.UNKNOWN, reason
    return known, reason if known is StopReason.UNKNOWN else ""


def _closed(block: _Open) -> Block | None:
    """None for kinds that the port does not have, and for a tool call with unreadable input."""
    text = "".join(block.text)
    match block.kind:
        case "text":
            return Text(text)
        case "thinking":
            return Thinking(text, block.signature)
        case "redacted_thinking":
            return Thinking("", block.signature, redacted=True)
        case "tool_use":
            written = "".join(block.json)
            try:
                given: object = json.loads(written) if written.strip() else block.given
            except json.JSONDecodeError:
                return None
            return ToolUse(block.id, block.name, given) if isinstance(given, dict) else None
        case _:
            return None
