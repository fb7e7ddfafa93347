"""What the Messages API stand-in refuses and accepts, driven through the official SDK."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from anthropic import AsyncAnthropic, BadRequestError
from PIL import Image

from tests.fakes import anthropic_rules as rules
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Thinking
from tests.fakes.faults import JsonObject
from tests.fakes.test_anthropic_fake import HI, MODEL, TOOL, ask, client, server, stream

__all__ = ["client", "server"]  # fixtures


def picture(form: str, side: int = 4, filler: int = 0) -> str:
    out = io.BytesIO()
    Image.new("RGB", (side, 4)).save(out, form)
    return base64.b64encode(out.getvalue() + b"\0" * filler).decode()


def image(data: str, media_type: str = "image/png") -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def user(*content: object) -> dict[str, object]:
    return {"role": "user", "content": list(content)}


def assistant(*content: object) -> dict[str, object]:
    return {"role": "assistant", "content": list(content)}


def text(words: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": words, **more}


def use(number: int) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "look_up", "input": {}}


def result(number: int, content: object = "ok") -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no messages": ({"messages": []}, "at least one message"),
    "first not user": ({"messages": [assistant(text("hello"))]}, 'must use the "user" role'),
    "empty content": ({"messages": [{"role": "user", "content": ""}]}, "non-empty content"),
    "empty text": ({"messages": [user(text(""))]}, "text content blocks must be non-empty"),
    "blank text": ({"messages": [user(text(" \n"))]}, "must contain non-whitespace text"),
    "blank string": ({"messages": [{"role": "user", "content": "\n"}]}, "must contain non-whitespace text"),
    "blank in history": (
        {"messages": [*HI, assistant(text("\n")), *HI]},
        "must contain non-whitespace text",
    ),
    "blank system": ({"system": [text(" ")]}, "must contain non-whitespace text"),
    "trailing space": ({"messages": [*HI, assistant(text("The answer "))]}, "trailing whitespace"),
    "zero tokens": ({"max_tokens": 0}, "max_tokens: Input should be greater"),
    "tool call last": ({"messages": [*HI, assistant(use(1))]}, "without `tool_result` blocks immediately after"),
    "tool call unanswered": ({"messages": [*HI, assistant(use(1)), *HI]}, "toolu_1"),
    "one of two answered": (
        {"messages": [*HI, assistant(use(1), use(2)), user(result(1))]},
        "immediately after: toolu_2",
    ),
    "result after text": (
        {"messages": [*HI, assistant(use(1)), user(text("well"), result(1))]},
        "immediately after: toolu_1",
    ),
    "result without call": ({"messages": [user(result(9))]}, "unexpected `tool_use_id`"),
    "result one turn late": (
        {"messages": [*HI, assistant(use(1)), user(result(1)), assistant(text("x")), user(result(1))]},
        "unexpected `tool_use_id`",
    ),
    "result twice": ({"messages": [*HI, assistant(use(1)), user(result(1), result(1))]}, "single result"),
    "blank result": (
        {"messages": [*HI, assistant(use(1)), user(result(1, [text(" ")]))]},
        "non-whitespace",
    ),
    "same call id twice": (
        {"messages": [*HI, assistant(use(1)), user(result(1)), assistant(use(1)), user(result(1))]},
        "ids must be unique",
    ),
    "call by the user": ({"messages": [user(use(1))]}, "only be in `assistant` messages"),
    "five marks": (
        {
            "system": [text("a", **MARK), text("b", **MARK)],
            "tools": [{**TOOL, **MARK}],
            "messages": [user(text("c", **MARK), text("d", **MARK))],
        },
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "four marks and the automatic one": (
        {"messages": [user(*(text("a", **MARK) for _ in range(4)))], **MARK},
        "Found 5.",
    ),
    "hour after minutes": ({"system": [text("a", **MARK), text("b", **HOUR)]}, "must not come after"),
    "same tool twice": ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
    "bad tool name": ({"tools": [{**TOOL, "name": "look up"}]}, "String should match pattern"),
    "thinking changed": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "a", "signature": "sig0"}), *HI]},
        "Invalid `signature`",
    ),
    "png called webp": ({"messages": [user(image(picture("PNG"), "image/webp"))]}, "appears to be a image/png"),
    "jpeg called png": ({"messages": [user(image(picture("JPEG")))]}, "appears to be a image/jpeg"),
    "not an image": (
        {"messages": [user(image(base64.b64encode(b"<!DOCTYPE html>").decode()))]},
        "Could not process image",
    ),
    "image type unknown": ({"messages": [user(image(picture("BMP"), "image/bmp"))]}, "media_type"),
    "image over 5 MB": ({"messages": [user(image(picture("PNG", filler=4_000_000)))]}, "exceeds 5 MB maximum"),
    "image too wide": ({"messages": [user(image(picture("PNG", side=8001)))]}, "8000 pixels"),
    "many large images": (
        {"messages": [user(*[image(picture("PNG", side=2001))] * 21)]},
        "many-image requests: 2000 pixels",
    ),
    "bad image in a tool result": (
        {"messages": [*HI, assistant(use(1)), user(result(1, [image(picture("PNG"), "image/gif")]))]},
        "appears to be a image/png",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_refused_like_the_real_api(client: AsyncAnthropic, server: FakeAnthropic, name: str) -> None:
    wanted, words = REFUSED[name]
    for call in (ask, stream):
        with pytest.raises(BadRequestError) as caught:
            await call(client, **wanted)
        assert words in str(caught.value)
        assert "invalid_request_error" in str(caught.value)
    assert not len(server.answers)


ACCEPTED: dict[str, dict[str, Any]] = {
    "tool pair with text after": {
        "messages": [*HI, assistant(text("I look"), use(1), use(2)), user(result(2), result(1), text("go on"))]
    },
    "four marks": {"messages": [user(*(text("a", **MARK) for _ in range(4)))]},
    "hour before minutes": {"system": [text("a", **HOUR), text("b", **MARK)]},
    "prefill": {"messages": [*HI, assistant(text("The answer is"))]},
    "two user messages in a row": {"messages": [*HI, *HI]},
    "empty tool result": {"messages": [*HI, assistant(use(1)), user(result(1, ""))]},
    "image that fits": {"messages": [user(image(picture("PNG")), image(picture("WEBP"), "image/webp"))]},
    "thinking unchanged": {
        "messages": [
            *HI,
            assistant({"type": "thinking", "thinking": "a", "signature": Thinking("a").signature}, text("yes")),
            *HI,
        ]
    },
}


@pytest.mark.parametrize("name", ACCEPTED)
async def test_accepted_like_the_real_api(client: AsyncAnthropic, name: str) -> None:
    assert (await ask(client, **ACCEPTED[name])).stop_reason == "end_turn"


async def test_a_request_without_max_tokens_or_version_is_refused(client: AsyncAnthropic) -> None:
    with pytest.raises(BadRequestError, match="max_tokens: Field required"):
        await client.post("/v1/messages", cast_to=object, body={"model": MODEL, "messages": HI})
    with pytest.raises(BadRequestError, match="anthropic-version: header is required"):
        await client.post(
            "/v1/messages",
            cast_to=object,
            body={"model": MODEL, "max_tokens": 1, "messages": HI},
            options={"headers": {"anthropic-version": ""}},
        )


def test_a_forced_tool_has_to_be_there_and_excludes_thinking() -> None:
    tool = {"name": "remember", "description": "d", "input_schema": {"type": "object", "properties": {}}}
    body: JsonObject = {
        "model": "m",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "hi"}],
        "tool_choice": {"type": "tool", "name": "remember"},
    }
    with pytest.raises(rules.Refused, match="not found in provided tools"):
        rules.check(body)
    rules.check(body | {"tools": [tool]})
    with pytest.raises(rules.Refused, match="Thinking may not be enabled"):
        rules.check(body | {"tools": [tool], "thinking": {"type": "adaptive"}})
