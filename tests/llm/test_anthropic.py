"""The Anthropic adapter through the real SDK: what is sent, what comes back, what a failure becomes."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from email.utils import format_datetime

import pytest

from bot.kernel.errors import PermanentError, TransientError
from bot.llm import anthropic
from bot.llm.anthropic_adapter import TRIES, AnthropicModel
from bot.llm.anthropic_errors import retry_after
from bot.llm.anthropic_wire import adaptive
from bot.llm.model import (
    BadRequestError,
    CacheMark,
    ContextTooLongError,
    CredentialsError,
    Effort,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    Tool,
    ToolResult,
    ToolUse,
    Usage,
)
from tests.fakes import anthropic_reply as far
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import ErrorStatus, Reply, say
from tests.fakes.faults import Answer, CutAfter, CutBefore, Recorded
from tests.llm.conftest import KEY, Make
from tests.llm.support import FALLBACK, LOOK_UP, MODEL, NOW, FakeClock, listen, request, user
from tests.llm.test_images import picture


def key_of(sent: Recorded) -> str:
    """The key that was sent, in whichever header the SDK puts it."""
    headers = {name.lower(): value for name, value in sent.headers.items()}
    return headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")


async def test_text_streams_and_finishes_once(server: FakeAnthropic, model: AnthropicModel) -> None:
    server.reply_with(say("one two three 😀", chunk=4, usage=far.Usage(7, 5, 3, 2)))
    heard = await listen(model.stream(request()))
    assert heard.shown == heard.text == "one two three 😀"
    assert heard.pieces > 1
    assert heard.last.stop is StopReason.END_TURN
    assert heard.last.model == MODEL
    assert heard.last.usage == Usage(input=7, output=5, cache_read=3, cache_written=2)
    assert model.health().ok
    assert model.provider == "anthropic"


async def test_what_is_sent_is_what_the_request_says_and_the_same_every_time(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    png = picture()
    asked = request(
        Message("user", (Text("see"), Image("image/png", png))),
        Message("assistant", (ToolUse("toolu_1", "look_up", {"q": "x", "n": [1]}),)),
        Message("user", (ToolResult("toolu_1", "not found", is_error=True), Text("go on", CacheMark.SHORT))),
        system=(Text("rules", CacheMark.LONG), Text("org", CacheMark.SHORT)),
        tools=(LOOK_UP, Tool("ask", "Asks.", {"type": "object"})),
        max_tokens=99,
    )
    await listen(model.stream(asked))
    await listen(model.stream(asked))
    first, second = server.requests.of("messages")
    assert first.raw == second.raw
    body = json.loads(first.raw)
    assert body["system"] == [
        {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": "org", "cache_control": {"type": "ephemeral", "ttl": "5m"}},
    ]
    assert [tool["name"] for tool in body["tools"]] == ["ask", "look_up"]
    assert body["max_tokens"] == 99
    assert body["stream"] is True
    assert "thinking" not in body
    assert "output_config" not in body
    seen, called, result = body["messages"]
    assert seen["content"][1]["source"]["media_type"] == "image/png"
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"q": "x", "n": [1]}}
    assert called["content"] == [call]
    assert result["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "not found",
        "is_error": True,
    }
    assert result["content"][1]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert key_of(first) == KEY


async def test_the_second_call_reads_what_the_first_one_wrote_to_the_cache(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    asked = request(system=(Text("rules " * 200, CacheMark.LONG),))
    first, second = await listen(model.stream(asked)), await listen(model.stream(asked))
    assert first.last.usage.cache_written == second.last.usage.cache_read > 0
    assert second.last.usage.cache_written == 0


async def test_tools_and_thinking_come_whole_and_go_back_unchanged(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(
        Reply(
            (
                far.Thinking("let me see 😀"),
                far.Text("I look."),
                far.ToolUse("look_up", {"q": "ü" * 40, "n": [1, None]}, id="toolu_1"),
                far.ToolUse("look_up", {}, id="toolu_2"),
            ),
            chunk=5,
        )
    )
    heard = await listen(model.stream(request(tools=(LOOK_UP,), thinking=True, effort=Effort.LOW)))
    assert heard.shown == "I look."
    assert heard.last.stop is StopReason.TOOL_USE
    assert heard.last.content == (
        Thinking("let me see 😀", far.signature("let me see 😀")),
        Text("I look."),
        ToolUse("toolu_1", "look_up", {"q": "ü" * 40, "n": [1, None]}),
        ToolUse("toolu_2", "look_up", {}),
    )
    results = Message("user", (ToolResult("toolu_1", "a"), ToolResult("toolu_2", "b")))
    await listen(model.stream(request(user("hi"), Message("assistant", heard.last.content), results, tools=(LOOK_UP,))))
    first, second = server.model_requests
    assert first.body["thinking"] == {"type": "adaptive"}
    assert first.body["output_config"] == {"effort": "low"}
    assert second.tool_results == {"toolu_1": "a", "toolu_2": "b"}
    assert len(server.answers) == 2


@pytest.mark.parametrize(
    ("name", "current"),
    [
        ("claude-opus-5-5", True),
        ("claude-sonnet-5", True),
        ("claude-opus-4-6", True),
        ("claude-mythos-preview", True),
        ("claude-opus-4-5", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-3-7-sonnet-20250219", False),
        ("qwen-3-4b", True),
    ],
)
def test_thinking_is_adaptive_since_4_6(name: str, current: bool) -> None:
    assert adaptive(name) is current


async def test_older_models_get_a_thinking_budget_below_the_answer_and_no_effort(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    for room in (4096, 1500, 1024):
        asked = request(model="claude-haiku-4-5", thinking=True, effort=Effort.HIGH, max_tokens=room)
        await listen(model.stream(asked))
    first, second, third = (one.body for one in server.model_requests)
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert "thinking" not in third
    assert "output_config" not in first


# Failures before the stream.


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_tried_four_times(
    server: FakeAnthropic, model: AnthropicModel, clock: FakeClock, status: int
) -> None:
    server.faults.plan("messages", Answer(status), times=TRIES)
    with pytest.raises(TransientError):
        await listen(model.stream(request()))
    assert server.requests.count("messages") == TRIES
    assert len(clock.slept) == TRIES - 1
    assert clock.slept[0] <= 0.5 < clock.slept[2] <= 2
    assert not model.health().ok
    await listen(model.stream(request()))
    assert model.health().ok


@pytest.mark.parametrize("fault", [CutBefore(), CutAfter()])
async def test_a_cut_connection_is_tried_again(
    server: FakeAnthropic, model: AnthropicModel, fault: CutBefore | CutAfter
) -> None:
    server.faults.plan("messages", fault)
    assert (await listen(model.stream(request()))).text == "You said: hi"
    assert server.requests.count("messages") == 2


async def test_a_server_that_is_down_is_transient(
    server: FakeAnthropic, backed: AnthropicModel, clock: FakeClock
) -> None:
    await server.down()
    with pytest.raises(TransientError, match="cannot be reached"):
        await listen(backed.stream(request()))
    assert len(clock.slept) == TRIES - 1, "another model of the same server is no better: wait before it too"


async def test_retry_after_is_honoured_under_a_cap(
    server: FakeAnthropic, model: AnthropicModel, clock: FakeClock
) -> None:
    for seconds in (7, 0, 86_400):
        server.faults.plan("messages", Answer(429, retry_after=seconds))
    await listen(model.stream(request()))
    assert clock.slept == [7, 0, anthropic.BACKOFF.cap.total_seconds()]


async def test_no_wait_that_would_pass_the_deadline(
    server: FakeAnthropic, model: AnthropicModel, clock: FakeClock
) -> None:
    server.faults.plan("messages", Answer(429, retry_after=20), times=9)
    with pytest.raises(TransientError) as caught:
        await listen(model.stream(request(deadline=timedelta(seconds=50))))
    assert clock.slept == [20, 20]
    assert caught.value.retry_after == timedelta(seconds=20)


def test_retry_after_is_read_in_every_form() -> None:
    assert retry_after({}, NOW) is None
    assert retry_after({"retry-after": "soon"}, NOW) is None
    assert retry_after({"retry-after": "1.5"}, NOW) == timedelta(seconds=1.5)
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}, NOW) == timedelta(milliseconds=250)
    later = format_datetime(NOW + timedelta(minutes=2))
    assert retry_after({"retry-after": later}, NOW) == timedelta(minutes=2)
    assert retry_after({"retry-after": format_datetime(NOW - timedelta(days=1))}, NOW) == timedelta()


async def test_the_deadline_ends_a_silent_call_and_closes_the_connection(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(say("one two three", chunk=4, gates={1: "never"}))
    with pytest.raises(TransientError, match=r"within 0\.3 seconds"):
        await listen(model.stream(request(deadline=timedelta(seconds=0.3))))
    (answer,) = await server.answers.wait(1)
    assert answer.body["outcome"] == "client_gone"
    assert server.requests.count("messages") == 1


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected", "said"),
    [
        (401, None, "invalid x-api-key", CredentialsError, "llm.api_key"),
        (403, None, "no", CredentialsError, MODEL),
        (402, None, "pay", CredentialsError, "account"),
        (404, None, f"model: {MODEL}", CredentialsError, "llm.models"),
        (400, None, "Your credit balance is too low to access the API", CredentialsError, "account"),
        (400, None, "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLongError, "does not fit"),
        (400, None, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", ContextTooLongError, "not fit"),
        (413, None, "Request exceeds the maximum size", ContextTooLongError, "too large"),
        (400, None, "messages.0.role: Input should be 'user'", BadRequestError, "refused"),
        (422, None, "unprocessable", BadRequestError, "refused"),
        (418, "teapot_error", "short and stout", BadRequestError, "teapot_error"),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(
    server: FakeAnthropic,
    backed: AnthropicModel,
    status: int,
    kind: str | None,
    words: str,
    expected: type[PermanentError],
    said: str,
) -> None:
    server.reply_with(Reply(error=ErrorStatus(status, kind, words)))
    with pytest.raises(expected, match=said):
        await listen(backed.stream(request()))
    assert server.requests.count("messages") == 1
    assert backed.health().ok is not (expected is CredentialsError)


async def test_the_key_is_in_no_message(server: FakeAnthropic, make: Make) -> None:
    key = "plain-secret-of-another-server"
    model = make(key=key)
    for status in (400, 403, 404, 422):
        server.reply_with(Reply(error=ErrorStatus(status, None, f"the key {key} is not welcome")))
        with pytest.raises(PermanentError) as caught:
            await listen(model.stream(request()))
        assert key not in caught.value.message
        assert key not in str(caught.value)
    assert key not in str(model.health())


async def test_a_base_url_needs_no_key(server: FakeAnthropic, make: Make) -> None:
    assert (await listen(make(key=None).stream(request()))).text == "You said: hi"


async def test_the_environment_changes_nothing(
    server: FakeAnthropic, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-someone-else")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    await listen(make(key=None).stream(request()))
    assert key_of(server.requests.of("messages")[0]) != "of-someone-else"


# Life.


async def test_a_cancelled_reader_closes_the_connection(server: FakeAnthropic, model: AnthropicModel) -> None:
    server.reply_with(say("one two three", chunk=4, gates={1: "middle"}))
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(listen(model.stream(request())))
        await server.faults.gate("middle").reached.wait()
        reading.cancel()
    (answer,) = await server.answers.wait(1)
    assert answer.body["outcome"] == "client_gone"
    assert model.health().ok


async def test_closing_the_iterator_closes_the_connection(server: FakeAnthropic, model: AnthropicModel) -> None:
    server.reply_with(say("one two three", chunk=4, gates={1: "never"}))
    events = model.stream(request())
    await anext(events)
    await events.aclose()
    (answer,) = await server.answers.wait(1)
    assert answer.body["outcome"] == "client_gone"


async def test_two_hundred_streams_at_once(server: FakeAnthropic, model: AnthropicModel) -> None:
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(listen(model.stream(request(user(f"number {number}"), deadline=timedelta(seconds=60)))))
            for number in range(200)
        ]
    assert [call.result().text for call in calls] == [f"You said: number {number}" for number in range(200)]


async def test_a_finished_call_leaves_its_connection_for_the_next(server: FakeAnthropic, model: AnthropicModel) -> None:
    ports: set[object] = set()
    opened = 0
    for _ in range(3):
        await listen(model.stream(request()))
        pool = model._client._client._transport._pool  # type: ignore[attr-defined]
        ports |= {id(connection) for connection in pool.connections}
        opened = max(opened, len(pool.connections))
    assert opened == len(ports) == 1


def test_models_that_the_sdk_lists() -> None:
    known = anthropic.known_models()
    assert {MODEL, FALLBACK, "claude-haiku-4-5"} <= known
    assert "claude-sonnet-4-5" in anthropic.retired_models()
    assert all(isinstance(name, str) for name in known)
