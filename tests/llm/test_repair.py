"""History repair: whatever was stored, what is sent keeps the API's rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm import repair, tokens
from bot.llm.converse import prepare
from bot.llm.model import (
    Block,
    CacheMark,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from tests.llm.support import assistant, request, user

USE_A, USE_B = ToolUse("a", "look_up", {}), ToolUse("b", "look_up", {})


def faults(messages: tuple[Message, ...]) -> list[str]:
    """The rules of the Messages API that `messages` breaks, written apart from the repair."""
    found: list[str] = []
    if not messages:
        return ["no messages"]
    if messages[0].role != "user":
        found.append("does not start with the user")
    ids = [block.id for message in messages for block in message.content if isinstance(block, ToolUse)]
    if len(ids) != len(set(ids)):
        found.append("a call id twice")
    for index, message in enumerate(messages):
        following = messages[index + 1] if index + 1 < len(messages) else None
        if following is not None and following.role == message.role:
            found.append("two of one role in a row")
        if not message.content:
            found.append("empty message")
            continue
        for block in message.content:
            if isinstance(block, Text | ToolResult) and not block.text.strip():
                found.append("blank text")
            if isinstance(block, ToolUse | Thinking) and message.role == "user":
                found.append("an assistant's block in a user message")
            if isinstance(block, ToolResult | Image) and message.role == "assistant":
                found.append("a user's block in an assistant message")
        calls = [block.id for block in message.content if isinstance(block, ToolUse)]
        answered = (
            [block.tool_use_id for block in following.content if isinstance(block, ToolResult)] if following else []
        )
        if sorted(calls) != sorted(answered):
            found.append("calls and results do not pair")
        if following and any(not isinstance(block, ToolResult) for block in following.content[: len(calls)]):
            found.append("results are not first")
        if message.role == "assistant" and isinstance(message.content[-1], Thinking):
            found.append("ends in thinking")
    if any(isinstance(block, ToolResult) for block in messages[0].content):
        found.append("result without call")
    last = messages[-1]
    if last.role == "assistant":
        end = last.content[-1] if last.content else None
        if isinstance(end, Text) and end.text != end.text.rstrip():
            found.append("trailing white space at the end")
    return found


ids = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["", " ", "\n", "\u00a0\t", "hello", "well ", " x\n"])
marks = st.sampled_from([None, None, CacheMark.SHORT, CacheMark.LONG])
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, texts, marks),
    st.builds(Image, st.just("image/png"), st.just(b"\x89PNG\r\n\x1a\n"), marks),
    st.builds(ToolUse, ids, st.just("look_up"), st.just({})),
    st.builds(ToolResult, ids, texts, st.booleans(), marks),
    st.builds(Thinking, texts, st.sampled_from(["", "sig"]), st.booleans()),
)
histories = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=4).map(tuple)), max_size=8
).map(tuple)


@pytest.mark.case(131)
@pytest.mark.case(132)
@pytest.mark.case(133)
@given(histories)
@settings(max_examples=400)
def test_case_131_132_133_any_history_is_fit_after_repair(messages: tuple[Message, ...]) -> None:
    fitted = repair.fit(messages)
    assert faults(fitted) == []
    assert repair.fit(fitted) == fitted


@given(histories)
@settings(max_examples=200)
def test_a_history_that_keeps_the_rules_is_left_alone(messages: tuple[Message, ...]) -> None:
    if not faults(messages) and all(
        block.signature for message in messages for block in message.content if isinstance(block, Thinking)
    ):
        assert [sorted(map(repr, message.content)) for message in repair.fit(messages)] == [
            sorted(map(repr, message.content)) for message in messages
        ]


@given(histories)
@settings(max_examples=200)
def test_no_words_of_people_are_lost(messages: tuple[Message, ...]) -> None:
    def words(of: tuple[Message, ...]) -> list[str]:
        return [
            block.text
            for message in of
            for block in message.content
            if message.role == "user" and isinstance(block, Text) and block.text.strip()
        ]

    assert [text for text in words(repair.fit(messages)) if text != repair.NO_TEXT] == words(messages)


@pytest.mark.case(131)
def test_case_131_missing_results_become_errors_first_in_the_next_user_message() -> None:
    broken = (
        user("look both up"),
        Message("assistant", (Text("I look."), USE_A, USE_B)),
        Message("user", (Text("are you there?"), ToolResult("b", "found b"))),
    )
    _, _, last = repair.fit(broken)
    assert last.content == (
        ToolResult("a", repair.INTERRUPTED, is_error=True),
        ToolResult("b", "found b"),
        Text("are you there?"),
    )


@pytest.mark.case(131)
def test_case_131_a_call_at_the_very_end_is_answered_by_an_error() -> None:
    fitted = repair.fit((user("go"), Message("assistant", (USE_A,))))
    assert fitted[-1] == Message("user", (ToolResult("a", repair.INTERRUPTED, is_error=True),))


@pytest.mark.case(132)
def test_case_132_results_without_calls_go_and_history_starts_with_the_user() -> None:
    whole = (
        user("look it up"),
        Message("assistant", (USE_A,)),
        Message("user", (ToolResult("a", "found"),)),
        assistant("It is found."),
        user("thanks"),
    )
    assert repair.fit(whole[1:]) == (user("thanks"),)
    assert repair.fit(whole[2:]) == (user("thanks"),)
    assert repair.fit((user("hi"), *whole[2:])) == (user("hi"), assistant("It is found."), user("thanks"))


@pytest.mark.case(132)
@given(histories, st.integers(0, 5))
def test_case_132_a_cut_never_parts_a_call_from_its_result(messages: tuple[Message, ...], keep: int) -> None:
    fitted = repair.fit(messages)
    kept = repair.cut(fitted, keep)
    assert not kept or faults(kept) == []
    assert fitted[len(fitted) - len(kept) :] == kept


@pytest.mark.case(132)
def test_case_132_history_is_cut_in_blocks_of_whole_turns() -> None:
    turn = (
        user("q" * 400),
        Message("assistant", (USE_A,)),
        Message("user", (ToolResult("a", "r" * 400),)),
        assistant("done"),
    )
    history = turn * 10
    each = tokens.of_messages(turn)
    assert repair.shorten(history, 10 * each) == history
    shortened = repair.shorten(history, 10 * each - 1)
    assert len(shortened) == 4 * len(turn)
    assert repair.shorten((*shortened, *turn), 10 * each - 1) == (*shortened, *turn)
    assert repair.shorten(history, 1) == turn


@pytest.mark.case(133)
def test_case_133_blank_text_goes_and_what_was_only_blank_says_so() -> None:
    fitted = repair.fit(
        (
            user("\n"),
            assistant(" "),
            user("hi", " "),
            Message("assistant", (Text("\n"), USE_A)),
            Message("user", (ToolResult("a", " \n"),)),
            assistant("\n"),
        )
    )
    assert fitted == (
        Message("user", (Text(repair.NO_TEXT), Text("hi"))),
        Message("assistant", (USE_A,)),
        Message("user", (ToolResult("a", repair.NO_OUTPUT),)),
    )


def marked(count: int, mark: CacheMark = CacheMark.SHORT) -> tuple[Text, ...]:
    return tuple(Text(f"part {number}", mark) for number in range(count))


def marks_of(asked: Request) -> tuple[list[CacheMark | None], list[CacheMark | None]]:
    return (
        [block.cache for block in asked.system],
        [block.cache for message in asked.messages for block in message.content if isinstance(block, Text)],
    )


@pytest.mark.case(138)
def test_case_138_fifth_cache_mark_goes_by_value() -> None:
    short = CacheMark.SHORT
    asked = request(Message("user", marked(3)), system=marked(2))
    assert marks_of(repair.limit_marks(asked)) == ([short, short], [None, short, short])
    asked = request(Message("user", marked(2)), system=marked(5))
    assert marks_of(repair.limit_marks(asked)) == ([short, None, None, short, short], [None, short])
    asked = request(user("hi"), system=marked(5))
    assert marks_of(repair.limit_marks(asked)) == ([short, None, short, short, short], [None])


@pytest.mark.case(138)
def test_case_138_no_hour_after_five_minutes() -> None:
    asked = request(
        Message("user", marked(1, CacheMark.LONG)), system=(Text("rules", CacheMark.LONG), Text("org", CacheMark.SHORT))
    )
    assert marks_of(repair.limit_marks(asked)) == ([CacheMark.LONG, CacheMark.SHORT], [CacheMark.SHORT])


@pytest.mark.case(138)
@given(histories, st.lists(st.builds(Text, st.sampled_from(["a", " ", "b"]), marks), max_size=6).map(tuple))
@settings(max_examples=300)
def test_case_138_any_request_has_at_most_four_marks_in_order(
    messages: tuple[Message, ...], system: tuple[Text, ...]
) -> None:
    asked = prepare(request(*messages, system=system))
    order = [block.cache for block in asked.system if block.cache] + [
        block.cache
        for message in asked.messages
        for block in message.content
        if isinstance(block, Text | Image | ToolResult) and block.cache
    ]
    assert len(order) <= 4
    assert order == sorted(order, key=lambda mark: mark is CacheMark.SHORT)
    assert faults(asked.messages) == []
    assert prepare(asked) == asked
