"""The Messages API stand-in, driven through the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from anthropic import (
    APIConnectionError,
    APIStatusError,
    AsyncAnthropic,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
    RequestTooLargeError,
)
from anthropic.types import Message

from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import (
    CutStream,
    EndEarly,
    ErrorInStream,
    ErrorStatus,
    Reply,
    Text,
    Thinking,
    ToolUse,
    Usage,
    say,
)
from tests.fakes.anthropic_script import ModelRequest, numbered, recite_history
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay

MODEL = "claude-opus-5-5"
TOOL = {"name": "look_up", "description": "d", "input_schema": {"type": "object", "properties": {}}}
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def server() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as running:
        yield running


@pytest.fixture
async def client(server: FakeAnthropic) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as sdk:
        yield sdk


async def ask(client: AsyncAnthropic, **more: Any) -> Message:
    message: Message = await client.messages.create(**{"model": MODEL, "max_tokens": 100, "messages": HI, **more})
    return message


async def stream(client: AsyncAnthropic, **more: Any) -> Message:
    wanted = {"model": MODEL, "max_tokens": 100, "messages": HI, **more}
    async with client.messages.stream(**wanted) as running:
        return await running.get_final_message()


async def listen(client: AsyncAnthropic, heard: list[str]) -> None:
    async with client.messages.stream(
        model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hi"}]
    ) as running:
        async for text in running.text_stream:
            heard.append(text)


def text_of(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def test_echo_is_the_same_streamed_or_whole(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    assert text_of(await ask(client)) == "You said: hi"
    assert text_of(await stream(client)) == "You said: hi"
    assert [entry.body["outcome"] for entry in server.answers] == ["complete", "complete"]
    first = server.requests.of("messages")[0]
    assert first.raw.startswith(b"{")
    assert first.headers["anthropic-version"]


async def test_blocks_of_every_kind_survive_the_stream(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    blocks = (
        Thinking("let me see 😀"),
        Text("so: é\n" * 20),
        ToolUse("look_up", {"q": "ü" * 40, "n": [1, None]}),
    )
    server.reply_with(Reply(blocks, chunk=7), Reply(blocks))
    streamed, whole = await stream(client, tools=[TOOL]), await ask(client, tools=[TOOL])
    for message in (streamed, whole):
        thinking, text, tool = message.content
        assert (thinking.type, text.type, tool.type) == ("thinking", "text", "tool_use")
        assert thinking.type == "thinking"
        assert thinking.thinking == "let me see 😀"
        assert thinking.signature == Thinking("let me see 😀").signature
        assert text_of(message) == "so: é\n" * 20
        assert tool.type == "tool_use"
        assert tool.input == {"q": "ü" * 40, "n": [1, None]}
        assert message.stop_reason == "tool_use"


@pytest.mark.parametrize(
    "reason",
    [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "out_of_ideas",
    ],
)
async def test_every_stop_reason_arrives(server: FakeAnthropic, client: AsyncAnthropic, reason: str) -> None:
    server.reply_with(say("x", stop_reason=reason), say("x", stop_reason=reason))
    assert (await stream(client)).stop_reason == reason
    assert (await ask(client)).stop_reason == reason


async def test_tool_input_may_be_cut_by_max_tokens(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(Reply((ToolUse("look_up", partial='{"q": "ha'),), stop_reason="max_tokens"))
    written = ""
    async with client.messages.stream(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "hi"}]
    ) as running:
        async for event in running:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                written += event.delta.partial_json
    assert written == '{"q": "ha'


async def test_usage_as_scripted(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(say("x", usage=Usage(7, 5, 300, 40)))
    usage = (await stream(client)).usage
    got = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    )
    assert got == (7, 5, 300, 40)


async def test_usage_follows_the_cache_marks(client: AsyncAnthropic) -> None:
    def system(text: str) -> list[dict[str, object]]:
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]

    first = (await ask(client, system=system("long " * 100))).usage
    second = (await ask(client, system=system("long " * 100))).usage
    changed = (await ask(client, system=system("other " * 100))).usage
    assert (first.cache_read_input_tokens, second.cache_creation_input_tokens) == (0, 0)
    assert (first.cache_creation_input_tokens or 0) > 100
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert changed.cache_read_input_tokens == 0


async def test_error_event_inside_the_stream(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(say("one two three", chunk=4, fault=ErrorInStream(after=2)))
    heard: list[str] = []
    with pytest.raises(APIStatusError) as caught:
        await listen(client, heard)
    assert "".join(heard) == "one two "
    assert caught.value.status_code == 200
    assert "overloaded_error" in str(caught.value.body)


async def test_cut_after_k_deltas(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(say("one two three", chunk=4, fault=CutStream(after=1)))
    heard: list[str] = []
    with pytest.raises((APIConnectionError, httpx2.TransportError)):
        await listen(client, heard)
    assert server.answers.of("messages")[0].body["outcome"] == "faulty"
    assert "".join(heard) in ("", "one ")


@pytest.mark.parametrize(("after", "text"), [(0, ""), (2, "one two "), (None, "one two three"), (99, "one two three")])
async def test_end_without_message_stop(
    server: FakeAnthropic, client: AsyncAnthropic, after: int | None, text: str
) -> None:
    server.reply_with(say("one two three", chunk=4, fault=EndEarly(after)))
    names: list[str] = []
    heard = ""
    raw = await client.messages.create(
        model=MODEL, max_tokens=9, stream=True, messages=[{"role": "user", "content": "hi"}]
    )
    async for event in raw:
        names.append(event.type)
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            heard += event.delta.text
    assert heard == text
    assert "message_stop" not in names
    assert names[0] == "message_start"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (404, NotFoundError),
        (413, RequestTooLargeError),
        (429, RateLimitError),
        (500, InternalServerError),
        (529, InternalServerError),
    ],
)
async def test_error_status_before_the_stream(
    server: FakeAnthropic, client: AsyncAnthropic, status: int, error: type[APIStatusError]
) -> None:
    server.reply_with(Reply(error=ErrorStatus(status, retry_after=33 if status == 429 else None)))
    with pytest.raises(error) as caught:
        await stream(client)
    assert caught.value.status_code == status
    assert caught.value.response.headers.get("retry-after") == ("33" if status == 429 else None)


async def test_planned_faults_before_and_after_the_model(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.faults.plan("messages", CutBefore())
    server.faults.plan("messages", CutAfter())
    server.faults.plan("messages", Answer(529))
    calls: list[ModelRequest] = []

    def model(request: ModelRequest) -> Reply:
        calls.append(request)
        return say("ok")

    server.script = model
    for _ in range(2):
        with pytest.raises(APIConnectionError):
            await ask(client)
    with pytest.raises(InternalServerError):
        await ask(client)
    assert len(calls) == 1
    assert text_of(await ask(client)) == "ok"
    assert server.requests.count("messages") == 4


async def test_the_sdk_retries_and_the_far_end_counts(server: FakeAnthropic) -> None:
    server.faults.plan("messages", Answer(529), times=1)
    async with AsyncAnthropic(api_key="k", base_url=server.url, max_retries=1) as client:
        assert text_of(await ask(client)) == "You said: hi"
    assert server.requests.count("messages") == 2


async def test_a_gate_holds_the_stream_between_deltas(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(say("one two three", chunk=4, gates={1: "middle"}))
    heard: list[str] = []
    async with client.messages.stream(
        model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hi"}]
    ) as running:
        async for text in running.text_stream:
            heard.append(text)
            if len(heard) == 1:
                await server.faults.gate("middle").reached.wait()
                assert heard == ["one "]
                server.faults.gate("middle").release()
    assert "".join(heard) == "one two three"


async def test_a_client_that_leaves_is_noticed(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.reply_with(say("one two three", chunk=4, gates={1: "never"}))
    async with client.messages.stream(
        model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hi"}]
    ) as running:
        async for _ in running.text_stream:
            break
    (answer,) = await server.answers.wait(1)
    assert answer.body["outcome"] == "client_gone"


async def test_calls_held_before_the_model_run_when_released(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.faults.plan("messages", Delay(gate="before"))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(ask(client))
        await server.faults.gate("before").reached.wait()
        assert not call.done()
        server.faults.gate("before").release()
    assert text_of(call.result()) == "You said: hi"


async def test_scripts_see_the_history(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    server.script = recite_history
    history = [
        {"role": "user", "content": "my dog is Rex"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "context"}, {"type": "text", "text": "who?"}]},
    ]
    assert text_of(await ask(client, messages=history)) == (
        "user: my dog is Rex\nassistant: Noted.\nuser: context who?"
    )
    server.script = numbered()
    assert text_of(await ask(client)) == "Answer 1 to: hi"
    assert text_of(await ask(client, messages=history)) == "Answer 2 to: who?"


async def test_a_scripted_model_may_use_tools(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    def model(request: ModelRequest) -> Reply:
        if request.tool_results:
            return say("found " + ", ".join(request.tool_results.values()))
        return Reply((ToolUse("look_up", {"q": request.last_text}, id="toolu_1"),))

    server.script = model
    first = await ask(client, tools=[TOOL])
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rex"}
    history = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    assert text_of(await ask(client, tools=[TOOL], messages=history)) == "found Rex"


async def test_count_tokens_and_models(server: FakeAnthropic, client: AsyncAnthropic) -> None:
    short = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi"}])
    long = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi" * 500}])
    assert 0 < short.input_tokens < long.input_tokens
    listed = [model.id async for model in client.models.list()]
    assert MODEL in listed
    assert (await client.models.retrieve(MODEL)).id == MODEL


async def test_unknown_model_and_wrong_key() -> None:
    async with FakeAnthropic(api_keys=frozenset({"right"}), models=(MODEL,)) as server:
        async with AsyncAnthropic(api_key="wrong", base_url=server.url, max_retries=0) as client:
            with pytest.raises(AuthenticationError):
                await ask(client)
        async with AsyncAnthropic(api_key="right", base_url=server.url, max_retries=0) as client:
            with pytest.raises(NotFoundError, match="model: claude-nope"):
                await ask(client, model="claude-nope")
            with pytest.raises(NotFoundError):
                await client.models.retrieve("claude-nope")


async def test_down_refuses_connections_and_up_is_the_same_port(
    server: FakeAnthropic,
) -> None:
    url = server.url
    await server.down()
    async with AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
        with pytest.raises(APIConnectionError):
            await ask(client)
        await server.up()
        assert server.url == url
        assert text_of(await ask(client)) == "You said: hi"
