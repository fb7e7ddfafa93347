"""The Anthropic adapter when a stream breaks, and the fallback model."""

from __future__ import annotations

import pytest

from bot.kernel.errors import PermanentError, TransientError
from bot.llm.anthropic_adapter import TRIES, AnthropicModel
from bot.llm.model import BadRequestError, ContextTooLongError, CredentialsError, Text
from tests.fakes import anthropic_reply as far
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import CutStream, EndEarly, ErrorInStream, ErrorStatus, Reply, say
from tests.fakes.faults import Answer
from tests.llm.support import FALLBACK, LOOK_UP, MODEL, FakeClock, Heard, listen, request


@pytest.mark.case(134)
@pytest.mark.case(135)
@pytest.mark.parametrize(
    "error", ["overloaded_error", "api_error", "rate_limit_error", "timeout_error", "brand_new_error"]
)
async def test_case_134_135_error_inside_a_200_stream_is_told_by_its_type_and_retried(
    server: FakeAnthropic, model: AnthropicModel, error: str
) -> None:
    server.reply_with(
        say("one two three", chunk=4, fault=ErrorInStream(error, after=2)), say("all of the answer", chunk=4)
    )
    heard = await listen(model.stream(request()))
    assert heard.restarts == 1
    assert heard.shown == heard.text == "all of the answer"
    assert server.requests.count("messages") == 2


@pytest.mark.case(135)
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("authentication_error", CredentialsError),
        ("permission_error", CredentialsError),
        ("invalid_request_error", BadRequestError),
        ("request_too_large", ContextTooLongError),
    ],
)
async def test_case_135_a_permanent_error_inside_a_200_stream_is_not_retried(
    server: FakeAnthropic, model: AnthropicModel, error: str, expected: type[PermanentError]
) -> None:
    server.reply_with(say("one two three", chunk=4, fault=ErrorInStream(error, after=1)))
    with pytest.raises(expected):
        await listen(model.stream(request()))
    assert server.requests.count("messages") == 1


@pytest.mark.case(134)
@pytest.mark.parametrize("after", [0, 2, None])
async def test_case_134_an_end_without_message_stop_is_no_answer(
    server: FakeAnthropic, model: AnthropicModel, after: int | None
) -> None:
    server.reply_with(say("one two three", chunk=4, fault=EndEarly(after)), say("whole"))
    heard = await listen(model.stream(request()))
    assert heard.shown == heard.text == "whole"
    assert heard.restarts == (after != 0)


@pytest.mark.case(134)
async def test_case_134_an_answer_that_never_gets_whole_is_never_finished(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(*[say("one two three", chunk=4, fault=EndEarly(2))] * TRIES)
    heard = Heard()
    with pytest.raises(TransientError, match="not complete"):
        await listen(model.stream(request()), heard)
    assert not heard.finished
    assert heard.restarts == TRIES - 1
    assert heard.shown == "one two "


@pytest.mark.case(134)
async def test_case_134_a_connection_cut_inside_the_stream_is_tried_again(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(say("one two three", chunk=4, fault=CutStream(2)), say("whole"))
    assert (await listen(model.stream(request()))).shown == "whole"


async def test_tool_input_that_nothing_cut_but_nobody_can_read_is_tried_again(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(Reply((far.ToolUse("look_up", partial='{"q": "ha'),), stop_reason="tool_use"), say("whole"))
    assert (await listen(model.stream(request(tools=(LOOK_UP,))))).last.content == (Text("whole"),)


# Fallback.


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_the_fallback_is_asked_when_the_first_stays_unavailable(
    server: FakeAnthropic, backed: AnthropicModel, clock: FakeClock, status: int
) -> None:
    server.faults.plan("messages", Answer(status), times=2)
    heard = await listen(backed.stream(request()))
    assert heard.last.model == FALLBACK
    assert [one.model for one in server.model_requests] == [MODEL, MODEL, FALLBACK]
    assert len(clock.slept) == 1


async def test_text_of_the_first_model_is_void_when_the_fallback_answers(
    server: FakeAnthropic, backed: AnthropicModel
) -> None:
    server.reply_with(*[say("half an", fault=ErrorInStream(after=1))] * 2, say("whole"))
    heard = await listen(backed.stream(request()))
    assert (heard.shown, heard.restarts, heard.last.model) == ("whole", 2, FALLBACK)


async def test_a_fallback_that_is_not_known_gives_the_first_model_its_tries_back(
    server: FakeAnthropic, backed: AnthropicModel
) -> None:
    server.faults.plan("messages", Answer(529), times=2)
    server.reply_with(Reply(error=ErrorStatus(404)), say("whole"))
    heard = await listen(backed.stream(request()))
    assert heard.last.model == MODEL
    assert [one.model for one in server.model_requests] == [MODEL, MODEL, FALLBACK, MODEL]


async def test_when_both_are_unavailable_the_error_is_transient(server: FakeAnthropic, backed: AnthropicModel) -> None:
    server.faults.plan("messages", Answer(529), times=3)
    server.reply_with(Reply(error=ErrorStatus(404)))
    with pytest.raises(TransientError):
        await listen(backed.stream(request()))
    assert server.requests.count("messages") == TRIES
