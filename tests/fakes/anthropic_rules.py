"""The rules by which the Messages API refuses a request, with its wording.

`check` raises `Refused` for the first fault; `prefix_marks` and `estimate` feed the token counts. Pure. Source: the
public Messages API reference, its prompt caching, tool use and vision guides, and the errors that the API answers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from PIL import Image, UnidentifiedImageError

from tests.fakes.anthropic_reply import signature

JsonObject = dict[str, Any]

MAX_CACHE_MARKS = 4
MAX_IMAGE_BYTES = 5 * 1024 * 1024
MAX_IMAGE_SIDE = 8000
MAX_IMAGE_SIDE_OF_MANY = 2000
MANY_IMAGES = 20
MAX_IMAGES = 100
MAX_REQUEST_BYTES = 32 * 1000 * 1000
TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class Refused(Exception):
    """The API refuses the request: error type and message."""

    def __init__(self, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def check(body: JsonObject, *, counting: bool = False) -> None:
    """Raise `Refused` when the API would answer 400 to `body`; `counting`: the rules of count_tokens."""
    _fields(body, counting)
    messages: list[JsonObject] = body["messages"]
    _system(body.get("system"))
    _tools(body.get("tools") or [])
    _choice(body)
    for index, message in enumerate(messages):
        _message(message, index, last=index == len(messages) - 1)
    _tool_pairs(messages)
    _cache(body)
    _images(messages)


def blocks(content: str | list[JsonObject]) -> list[JsonObject]:
    """Message content in its one full form."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _fields(body: JsonObject, counting: bool) -> None:
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refused(f"{name}: Field required")
    if not counting and (not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1):
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    if not isinstance(body["messages"], list):
        raise Refused("messages: Input should be a valid list")
    if not body["messages"]:
        raise Refused("messages: at least one message is required")


def _system(system: str | list[JsonObject] | None) -> None:
    if not system:
        return
    for index, block in enumerate(blocks(system)):
        if block.get("type") != "text":
            raise Refused(f"system.{index}.type: Input should be 'text'")
        _text(block["text"], "system")


def _choice(body: JsonObject) -> None:
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "tool":
        return
    if choice.get("name") not in [tool.get("name") for tool in body.get("tools") or []]:
        raise Refused(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")


def _tools(tools: list[JsonObject]) -> None:
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        name = tool.get("name", "")
        if not TOOL_NAME.match(name):
            raise Refused(f"tools.{index}.custom.name: String should match pattern '{TOOL_NAME.pattern}'")
        if name in seen:
            raise Refused("tools: Tool names must be unique.")
        if tool.get("type", "custom") == "custom" and tool.get("input_schema", {}).get("type") != "object":
            raise Refused(f"tools.{index}.custom.input_schema.type: Input should be 'object'")
        seen.add(name)


def _text(text: str, where: str) -> None:
    if not text:
        raise Refused(f"{where}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{where}: text content blocks must contain non-whitespace text")


def _message(message: JsonObject, index: int, *, last: bool) -> None:
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    if index == 0 and role != "user":
        raise Refused('messages: first message must use the "user" role')
    content = message.get("content")
    if not isinstance(content, str | list):
        raise Refused(f"messages.{index}.content: Field required")
    if not content and not (last and role == "assistant"):
        raise Refused(
            f"messages.{index}: all messages must have non-empty content"
            " except for the optional final assistant message"
        )
    parts = blocks(content)
    for block in parts:
        _block(block, index, role)
    if last and role == "assistant" and parts and parts[-1].get("type") == "text":
        text: str = parts[-1]["text"]
        if text != text.rstrip():
            raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _block(block: JsonObject, index: int, role: str) -> None:
    kind = block.get("type")
    if kind == "text":
        _text(block["text"], "messages")
    elif kind == "thinking" and block.get("signature") != signature(block["thinking"]):
        raise Refused(f"messages.{index}.content: Invalid `signature` in `thinking` block")
    elif kind == "tool_use" and role != "assistant":
        raise Refused(f"messages.{index}: `tool_use` blocks can only be in `assistant` messages")
    elif kind == "tool_result":
        if role != "user":
            raise Refused(f"messages.{index}: `tool_result` blocks can only be in `user` messages")
        for part in blocks(block.get("content") or []):
            if part.get("type") == "text":
                _text(part["text"], "messages")


def _ids(message: JsonObject, kind: str, key: str) -> list[str]:
    return [block[key] for block in blocks(message["content"]) if block.get("type") == kind]


def _tool_pairs(messages: list[JsonObject]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        wanted = _ids(message, "tool_use", "id")
        if len(set(wanted)) < len(wanted) or seen & set(wanted):
            raise Refused("messages: `tool_use` ids must be unique")
        seen |= set(wanted)
        if wanted:
            _answered(messages, index, wanted)
        asked = _ids(messages[index - 1], "tool_use", "id") if index else []
        results = _ids(message, "tool_result", "tool_use_id")
        for result in results:
            if result not in asked:
                raise Refused(
                    f"messages.{index}.content: unexpected `tool_use_id` found in `tool_result` blocks: {result}. Each"
                    " `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
            if results.count(result) > 1:
                raise Refused(
                    f"messages.{index}.content: each tool_use must have a single result."
                    f" Found multiple `tool_result` blocks with id: {result}"
                )


def _answered(messages: list[JsonObject], index: int, wanted: list[str]) -> None:
    """Every call has its result in the next user message, before any other block of it."""
    following = messages[index + 1] if index + 1 < len(messages) else {"content": []}
    leading: list[str] = []
    for block in blocks(following["content"]):
        if block.get("type") != "tool_result":
            break
        leading.append(block["tool_use_id"])
    if missing := [one for one in wanted if one not in leading]:
        raise Refused(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the"
            " next message."
        )


def _ordered(body: JsonObject) -> Iterator[JsonObject]:
    """Every block that may carry a cache mark, in the order of the cached prefix: tools, system, messages."""
    yield from body.get("tools") or []
    yield from blocks(body.get("system") or [])
    for message in body["messages"]:
        for block in blocks(message["content"]):
            if block.get("type") == "tool_result":
                yield from blocks(block.get("content") or [])
            yield block


def _cache(body: JsonObject) -> None:
    marked = [block for block in _ordered(body) if block.get("cache_control")]
    count = len(marked) + bool(body.get("cache_control"))
    if count > MAX_CACHE_MARKS:
        raise Refused(f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {count}.")
    short = False
    for block in marked:
        if block.get("type") in ("thinking", "redacted_thinking"):
            raise Refused("cache_control cannot be set for thinking blocks")
        ttl = block["cache_control"].get("ttl", "5m")
        if ttl not in ("5m", "1h"):
            raise Refused("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
        if ttl == "1h" and short:
            raise Refused(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks"
                " are processed in the following order: `tools`, `system`, `messages`."
            )
        short = short or ttl == "5m"


def _images(messages: list[JsonObject]) -> None:
    found: list[tuple[str, JsonObject]] = []
    for index, message in enumerate(messages):
        for place, block in enumerate(blocks(message["content"])):
            inner = blocks(block.get("content") or []) if block.get("type") == "tool_result" else [block]
            found += [
                (f"messages.{index}.content.{place}.image.source.base64", one["source"])
                for one in inner
                if one.get("type") == "image" and one["source"].get("type") == "base64"
            ]
    if len(found) > MAX_IMAGES:
        raise Refused(f"messages: too many images and documents: {len(found)} + 0 > {MAX_IMAGES}")
    for where, source in found:
        _image(where, source, MAX_IMAGE_SIDE if len(found) <= MANY_IMAGES else MAX_IMAGE_SIDE_OF_MANY)


def _image(where: str, source: JsonObject, side: int) -> None:
    try:
        data = base64.b64decode(source["data"], validate=True)
    except binascii.Error as error:
        raise Refused(f"{where}.data: Invalid base64 data") from error
    if len(source["data"]) > MAX_IMAGE_BYTES:
        raise Refused(f"{where}: image exceeds 5 MB maximum: {len(source['data'])} bytes > {MAX_IMAGE_BYTES} bytes")
    media_type = source["media_type"]
    if media_type not in FORMATS.values():
        raise Refused(f"{where}.media_type: Input should be {', '.join(sorted(FORMATS.values()))}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                form, size = image.format, image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError) as error:
        raise Refused("Could not process image") from error
    if FORMATS.get(form or "") != media_type:
        raise Refused(
            f"{where}.data: The image was specified using the {media_type} media type,"
            f" but the image appears to be a {FORMATS.get(form or '', 'different')} image"
        )
    if max(size) > side:
        many = " for many-image requests" if side == MAX_IMAGE_SIDE_OF_MANY else ""
        raise Refused(
            f"{where}.data: At least one of the image dimensions exceed max allowed size{many}: {side} pixels"
        )


# Token counts.


def estimate(value: object) -> int:
    """A token count for `value`: a quarter of its characters as JSON, at least one."""
    return max(1, len(json.dumps(value)) // 4)


def prefix_marks(body: JsonObject) -> list[tuple[str, int]]:
    """Digest and size in tokens of the prefix up to each cache mark, shortest first."""
    digest = hashlib.sha256(str(body["model"]).encode())
    tokens = 0
    marks: list[tuple[str, int]] = []
    ordered = list(_ordered(body))
    for index, block in enumerate(ordered):
        bare = {key: value for key, value in block.items() if key != "cache_control"}
        digest.update(json.dumps(bare, sort_keys=True).encode())
        tokens += estimate(bare)
        automatic = index == len(ordered) - 1 and body.get("cache_control")
        if block.get("cache_control") or automatic:
            marks.append((digest.hexdigest(), tokens))
    return marks
