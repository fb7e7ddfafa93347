"""One answer, whatever way it ends: pauses, cuts, refusals, images, over the real adapter and over a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

import pytest

from bot.kernel.errors import TransientError
from bot.llm import images
from bot.llm.anthropic_adapter import AnthropicModel
from bot.llm.converse import PAUSES, converse
from bot.llm.model import (
    BadImageError,
    BadRequestError,
    Block,
    CacheMark,
    ContextTooLongError,
    Event,
    Finished,
    Image,
    Message,
    ModelHealth,
    Request,
    Restarted,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    ToolUse,
    Usage,
)
from bot.llm.stops import CUT_IN_TOOL_INPUT, STILL_PAUSED
from tests.fakes import anthropic_reply as far
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import ErrorInStream, ErrorStatus, Reply, say
from tests.llm.support import LOOK_UP, Heard, assistant, listen, request, user
from tests.llm.test_images import picture

Step = Event | Exception


class Scripted:
    """A model that plays one list of events a call; an exception in it is raised."""

    provider = "scripted"

    def __init__(self, *calls: Sequence[Step]) -> None:
        self.calls = list(calls)
        self.requests: list[Request] = []
        self.closed = 0

    async def stream(self, asked: Request) -> AsyncGenerator[Event, None]:
        self.requests.append(asked)
        try:
            for step in self.calls.pop(0):
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed += 1

    def health(self) -> ModelHealth:
        return ModelHealth(ok=True)

    async def close(self) -> None:
        return None


def ends(stop: StopReason, *content: Block, detail: str = "") -> Finished:
    return Finished(content, stop, Usage(1, 1), "scripted", detail)


@pytest.mark.case(131)
@pytest.mark.case(133)
@pytest.mark.case(140)
async def test_case_131_133_140_a_broken_history_is_repaired_before_it_is_sent(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    heard = await listen(
        converse(
            model,
            request(
                assistant("cut off"),
                user(" "),
                Message("assistant", (Text("\n"), ToolUse("a", "look_up", {}), ToolUse("b", "look_up", {}))),
                Message("user", (Image("image/webp", picture()), ToolResult("b", ""))),
                user("hi"),
                tools=(LOOK_UP,),
            ),
        )
    )
    assert heard.text == "You said: hi"
    (asked,) = server.model_requests
    assert set(asked.tool_results) == {"a", "b"}


@pytest.mark.case(136)
@pytest.mark.parametrize(
    ("reason", "stop", "detail"),
    [
        ("end_turn", StopReason.END_TURN, ""),
        ("stop_sequence", StopReason.STOP_SEQUENCE, ""),
        ("max_tokens", StopReason.MAX_TOKENS, ""),
        ("refusal", StopReason.REFUSAL, ""),
        ("a_new_reason", StopReason.UNKNOWN, "a_new_reason"),
        ("unknown", StopReason.UNKNOWN, "unknown"),
    ],
)
async def test_case_136_every_stop_reason_arrives_and_is_asked_once(
    server: FakeAnthropic, model: AnthropicModel, reason: str, stop: StopReason, detail: str
) -> None:
    server.reply_with(say("some text", stop_reason=reason))
    heard = await listen(converse(model, request()))
    assert (heard.last.stop, heard.last.detail, heard.text) == (stop, detail, "some text")
    assert server.requests.count("messages") == 1


@pytest.mark.case(136)
async def test_case_136_tool_use_arrives_with_its_calls(server: FakeAnthropic, model: AnthropicModel) -> None:
    server.reply_with(Reply((far.ToolUse("look_up", {"q": "x"}, id="toolu_1"),)))
    heard = await listen(converse(model, request(tools=(LOOK_UP,))))
    assert heard.last.stop is StopReason.TOOL_USE
    assert heard.last.content == (ToolUse("toolu_1", "look_up", {"q": "x"}),)


@pytest.mark.case(136)
@pytest.mark.parametrize("reason", ["refusal", "a_new_reason"])
async def test_case_136_a_call_is_not_handed_on_when_the_end_does_not_mean_it(
    server: FakeAnthropic, model: AnthropicModel, reason: str
) -> None:
    server.reply_with(Reply((far.Text("well"), far.ToolUse("look_up", {"q": "x"})), stop_reason=reason))
    heard = await listen(converse(model, request(tools=(LOOK_UP,))))
    assert heard.last.content == (Text("well"),)


@pytest.mark.case(136)
async def test_case_136_tool_use_without_a_call_is_the_end_of_the_turn() -> None:
    model = Scripted([ends(StopReason.TOOL_USE, Text("done"))])
    assert (await listen(converse(model, request()))).last.stop is StopReason.END_TURN


@pytest.mark.case(136)
async def test_case_136_a_pause_is_sent_back_and_continued(server: FakeAnthropic, model: AnthropicModel) -> None:
    usage = far.Usage(5, 3)
    server.reply_with(say("First ", stop_reason="pause_turn", usage=usage), say("then.", usage=usage))
    heard = await listen(converse(model, request()))
    assert heard.shown == heard.text == "First then."
    assert heard.last.stop is StopReason.END_TURN
    assert heard.last.usage == Usage(input=10, output=6)
    assert server.model_requests[1].turns == (("user", "hi"), ("assistant", "First"))


@pytest.mark.case(136)
async def test_case_136_a_retry_after_a_pause_keeps_the_part_before_it(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(
        say("First ", stop_reason="pause_turn"), say("broken", fault=ErrorInStream(after=1)), say("then.")
    )
    heard = await listen(converse(model, request()))
    assert heard.restarts == 1
    assert heard.shown == heard.text == "First then."


@pytest.mark.case(136)
async def test_case_136_pauses_are_bounded(server: FakeAnthropic, model: AnthropicModel) -> None:
    server.script = lambda asked: say("again ", stop_reason="pause_turn")
    heard = await listen(converse(model, request()))
    assert server.requests.count("messages") == PAUSES + 1
    assert (heard.last.stop, heard.last.detail) == (StopReason.PAUSE_TURN, STILL_PAUSED)
    assert heard.text == "again " * (PAUSES + 1)


@pytest.mark.case(136)
async def test_case_136_context_exceeded_is_one_error_however_it_is_told(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(
        say("half", stop_reason="model_context_window_exceeded"),
        Reply(error=ErrorStatus(400, None, "prompt is too long: 9 tokens > 8 maximum")),
    )
    for _ in range(2):
        with pytest.raises(ContextTooLongError):
            await listen(converse(model, request()))


CUT = Reply((far.Text("I look. "), far.ToolUse("look_up", partial='{"q": "ha')), stop_reason="max_tokens")


@pytest.mark.case(137)
async def test_case_137_a_cut_call_is_asked_for_again_with_more_room(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(CUT, Reply((far.ToolUse("look_up", {"q": "half"}, id="toolu_1"),)))
    heard = await listen(converse(model, request(tools=(LOOK_UP,), max_tokens=100)))
    assert heard.last.content == (ToolUse("toolu_1", "look_up", {"q": "half"}),)
    assert heard.restarts == 1
    assert heard.shown == ""
    assert [one.body["max_tokens"] for one in server.model_requests] == [100, 200]


@pytest.mark.case(137)
@pytest.mark.parametrize(
    "cut",
    [
        CUT,
        Reply((far.Text("I look. "), far.ToolUse("look_up", partial="")), stop_reason="max_tokens"),
        Reply((far.Text("I look. "), far.ToolUse("look_up", partial='"half a str')), stop_reason="max_tokens"),
        Reply((far.Text("I look. "), far.ToolUse("look_up", {"q": "x"})), stop_reason="max_tokens"),
    ],
)
async def test_case_137_a_call_that_is_cut_twice_is_said_to_be_cut_and_never_run(
    server: FakeAnthropic, model: AnthropicModel, cut: Reply
) -> None:
    server.reply_with(cut, cut)
    heard = await listen(converse(model, request(tools=(LOOK_UP,))))
    assert server.requests.count("messages") == 2
    assert heard.last.stop is StopReason.MAX_TOKENS
    assert heard.last.detail == CUT_IN_TOOL_INPUT
    assert heard.last.content == (Text("I look. "),)
    assert heard.shown == "I look. "


@pytest.mark.case(137)
async def test_case_137_the_cut_answer_stands_when_more_room_is_refused(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(CUT, Reply(error=ErrorStatus(400, None, "max_tokens: 8192 > 4096, which is the maximum")))
    heard = await listen(converse(model, request(tools=(LOOK_UP,))))
    assert (heard.last.stop, heard.last.detail) == (StopReason.MAX_TOKENS, CUT_IN_TOOL_INPUT)
    assert heard.last.content == (Text("I look. "),)


@pytest.mark.case(137)
async def test_case_137_no_more_room_than_models_have_is_asked_for() -> None:
    model = Scripted([ends(StopReason.MAX_TOKENS, detail=CUT_IN_TOOL_INPUT)])
    heard = await listen(converse(model, request(max_tokens=64_000)))
    assert heard.last.detail == CUT_IN_TOOL_INPUT


@pytest.mark.case(138)
async def test_case_138_a_fifth_mark_does_not_reach_the_provider(server: FakeAnthropic, model: AnthropicModel) -> None:
    texts = tuple(Text(f"part {number}", CacheMark.LONG) for number in range(4))
    heard = await listen(converse(model, request(Message("user", texts), system=texts)))
    assert heard.last.stop is StopReason.END_TURN
    assert server.requests.of("messages")[0].raw.count(b'"cache_control"') == 4


@pytest.mark.case(141)
@pytest.mark.parametrize(
    "words",
    [
        "messages.2.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size",
        "messages.2.content.1.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes",
    ],
)
async def test_case_141_the_refused_image_is_taken_out_and_the_rest_is_asked_again(
    server: FakeAnthropic, model: AnthropicModel, words: str
) -> None:
    server.reply_with(Reply(error=ErrorStatus(400, None, words)))
    good, bad = Image("image/png", picture()), Image("image/gif", picture("GIF"))
    history = (Message("user", (good,)), assistant("nice"), Message("user", (Text("and?"), bad)))
    heard = await listen(converse(model, request(*history)))
    assert heard.last.stop is StopReason.END_TURN
    first, second = server.model_requests
    assert second.messages[0] == first.messages[0]
    assert second.messages[2]["content"][1] == {"type": "text", "text": images.REFUSED}


@pytest.mark.case(141)
async def test_case_141_when_no_image_is_named_all_go_once(server: FakeAnthropic, model: AnthropicModel) -> None:
    refused = Reply(error=ErrorStatus(400, None, "Could not process image"))
    server.reply_with(refused)
    shown = Message("user", (Text("see"), Image("image/png", picture())))
    await listen(converse(model, request(shown)))
    assert [part["type"] for part in server.model_requests[1].messages[0]["content"]] == ["text", "text"]


@pytest.mark.case(141)
async def test_case_141_too_large_in_all_is_the_images_fault_when_they_are_the_most_of_it(
    server: FakeAnthropic, model: AnthropicModel
) -> None:
    server.reply_with(Reply(error=ErrorStatus(413)))
    shown = Message("user", (Text("see"), Image("image/png", picture() + b"\0" * 10_000)))
    await listen(converse(model, request(shown)))
    assert server.requests.count("messages") == 2


@pytest.mark.case(141)
async def test_case_141_image_refusals_are_bounded() -> None:
    shown = Message("user", (Image("image/png", picture()), Image("image/png", picture())))
    model = Scripted(*[[BadImageError("no", 0)] for _ in range(9)])
    with pytest.raises(BadImageError):
        await listen(converse(model, request(shown)))
    assert [images_in(asked) for asked in model.requests] == [2, 1, 0]


def images_in(asked: Request) -> int:
    return sum(isinstance(block, Image) for message in asked.messages for block in message.content)


async def test_other_refusals_are_not_tried_again() -> None:
    model = Scripted([BadRequestError("no")])
    with pytest.raises(BadRequestError):
        await listen(converse(model, request()))
    assert len(model.requests) == 1


@pytest.mark.case(134)
async def test_case_134_a_model_that_ends_without_finished_is_a_failure() -> None:
    heard = Heard()
    with pytest.raises(TransientError):
        await listen(converse(Scripted([TextDelta("half")]), request()), heard)
    assert not heard.finished


async def test_restarts_of_the_model_pass_through_once() -> None:
    model = Scripted([TextDelta("ha"), Restarted(), TextDelta("whole"), ends(StopReason.END_TURN, Text("whole"))])
    heard = await listen(converse(model, request()))
    assert (heard.shown, heard.restarts) == ("whole", 1)


async def test_later_calls_get_what_is_left_of_the_deadline() -> None:
    model = Scripted([ends(StopReason.PAUSE_TURN, Text("a"))], [ends(StopReason.END_TURN, Text("b"))])
    await listen(converse(model, request(deadline=timedelta(seconds=10))))
    first, second = (asked.deadline for asked in model.requests)
    assert second < first <= timedelta(seconds=10)


async def test_no_call_after_the_deadline() -> None:
    model = Scripted([ends(StopReason.END_TURN, Text("a"))])
    with pytest.raises(TransientError, match="in time"):
        await listen(converse(model, request(deadline=timedelta())))
    assert not model.requests


async def test_closing_the_conversation_closes_the_call() -> None:
    model = Scripted([TextDelta("a"), TextDelta("b"), ends(StopReason.END_TURN)])
    events = converse(model, request())
    await anext(events)
    await events.aclose()
    assert model.closed == 1
