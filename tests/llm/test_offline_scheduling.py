"""Which messages the offline mode takes for requests to schedule something, and what it makes of the tool's answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.llm.model import Finished, Message, Request, StopReason, Text, Tool, ToolResult, ToolUse
from bot.llm.offline import OfflineModel
from bot.llm.offline_scheduling import DONE, SCHEDULE, read

OFFERED = (Tool(SCHEDULE, "", {}),)


@pytest.mark.parametrize(
    "text",
    [
        "Remind me in two minutes to call Ben",
        "please remind me to pay the rent on the 3rd",
        "remind me about the lease on Friday",
        "remind me to eat",
        "ask Ben on Friday whether the lease is signed",
        "every weekday at 8:30 send me the brief",
        "Every Monday at 10 ask me what I plan.",
        "send me the brief every weekday at 8:30",
        "tell me tomorrow at 9 how sales go",
        "erinnere mich morgen um 9 an die Miete",
        "jeden Werktag um 8:30 schick mir das Briefing",
        "Kannst du mich morgen um 9 an die Miete erinnern?",
        "Frag Ben am Freitag, ob der Vertrag da ist",
    ],
)
def test_a_request_is_handed_over_as_it_is(text: str) -> None:
    assert read(text) == text
    assert read(f"Hello,\n{text}\n\nBest regards\nAnn") == text


@pytest.mark.parametrize(
    "text",
    [
        "remind me what we decided on Friday",
        "remind me about the lease",
        "tell me what we decided on Friday",
        "We meet every Monday at 10.",
        "every Monday we meet and then Ben talks to the whole team",
        "Ask Ben whether the lease is signed",
        "What do I have to do every Monday?",
        "Send the mail to Ben",
        "remind me at 9 to eat\nremind me at 10 to drink",
        "remind me at 9 to eat\nand by the way the launch has moved to the end of May",
        "",
    ],
)
def test_other_messages_are_none(text: str) -> None:
    assert read(text) is None


async def said(*messages: Message, tools: tuple[Tool, ...] = OFFERED) -> Finished:
    request = Request("offline", (), messages, max_tokens=100, deadline=timedelta(seconds=5), tools=tools)
    events = [event async for event in OfflineModel().stream(request)]
    last = events[-1]
    assert isinstance(last, Finished)
    return last


ASKED = Message("user", (Text('<message from="Ann" at="2026-03-02T09:00Z">remind me at 15:00 to eat</message>'),))


async def test_the_tool_is_called_once_with_the_sentence() -> None:
    first = await said(ASKED)
    assert first.stop is StopReason.TOOL_USE
    (call,) = first.content
    assert isinstance(call, ToolUse)
    assert (call.name, call.input) == (SCHEDULE, {"request": "remind me at 15:00 to eat"})
    done = await said(ASKED, Message("assistant", first.content), Message("user", (ToolResult(call.id, "ok"),)))
    assert done.content == (Text(DONE),)


async def test_what_the_tool_asks_back_is_said() -> None:
    call = ToolUse("offline_schedule", SCHEDULE, {"request": "remind me at 15:00 to eat"})
    result = ToolResult(call.id, "do you mean 03:00 or 15:00?", is_error=True)
    answer = await said(ASKED, Message("assistant", (call,)), Message("user", (result,)))
    assert answer.content == (Text("Do you mean 03:00 or 15:00?"),)


async def test_without_the_tool_nothing_is_promised() -> None:
    answer = await said(ASKED, tools=())
    (text,) = answer.content
    assert isinstance(text, Text)
    assert DONE not in text.text
