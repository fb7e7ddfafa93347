"""No request passes its model's window, whatever it is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm import window
from bot.llm.model import Block, Image, Message, Request, Text, Tool, ToolResult, ToolUse

TEXTS = st.one_of(
    st.text(max_size=300),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(1, 20_000)),
)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(ToolResult, st.just("c"), TEXTS, st.booleans()),
    st.builds(Image, st.just("image/png"), st.binary(max_size=50)),
    st.builds(ToolUse, st.just("c"), st.just("look"), st.just({"a": 1})),
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(("user", "assistant")), st.lists(BLOCKS, min_size=1, max_size=6).map(tuple)),
    min_size=1,
    max_size=6,
).map(tuple)


def request(*blocks: Block, max_tokens: int = 1_000) -> Request:
    return Request("m", (Text("persona"),), (Message("user", blocks),), max_tokens=max_tokens)


@given(MESSAGES, st.sampled_from((12_000, 30_000, 200_000)), st.sampled_from((256, 4_096)))
@settings(deadline=None, max_examples=200)
def test_any_request_and_its_answer_fit(messages: tuple[Message, ...], size: int, max_tokens: int) -> None:
    asked = Request("m", (Text("persona"),), messages, (Tool("look", "Looks.", {}),), max_tokens)
    fitted = window.fit(asked, size)
    assert window.of_request(fitted) + fitted.max_tokens + window.MARGIN <= size
    assert [[type(b) for b in m.content if not isinstance(b, Image)] for m in asked.messages] == [
        [type(b) for b, was in zip(m.content, n.content, strict=True) if not isinstance(was, Image)]
        for m, n in zip(fitted.messages, asked.messages, strict=True)
    ]
    assert window.fit(fitted, size) == fitted


@given(MESSAGES)
@settings(deadline=None)
def test_what_fits_is_left_alone(messages: tuple[Message, ...]) -> None:
    asked = Request("m", (), messages, max_tokens=256)
    assert window.fit(asked, window.of_request(asked) + 256 + window.MARGIN) is asked


def test_results_of_tools_are_cut_before_what_people_wrote_and_say_so() -> None:
    fitted = window.fit(request(Text("w" * 10_000), ToolResult("c", "r" * 100_000)), 20_000)
    said, found = fitted.messages[0].content
    assert said == Text("w" * 10_000)
    assert isinstance(found, ToolResult)
    assert "cut here: 100000 characters in all" in found.text
    assert found.text.startswith("rrr")
    assert found.text.endswith("rrr")


def test_only_the_longest_are_cut() -> None:
    short, middle, long = "s" * 1_000, "m" * 30_000, "l" * 300_000
    fitted = window.fit(request(Text(short), Text(middle), Text(long)), 40_000)
    texts = [block.text for block in fitted.messages[0].content if isinstance(block, Text)]
    assert texts[:2] == [short, middle]
    assert len(texts[2]) < 60_000


def test_pictures_go_when_nothing_else_helps_and_a_note_stands_for_them() -> None:
    pictures = [Image("image/png", b"x") for _ in range(20)]
    fitted = window.fit(request(Text("look"), *pictures), 12_000)
    notes = [block for block in fitted.messages[0].content if block == Text(window.NO_ROOM)]
    assert 0 < len(notes) < 20
    assert fitted.messages[0].content[0] == Text("look")


@pytest.mark.parametrize("most", [0, 10, 300, 1_000, 50_000])
def test_a_shortened_text_keeps_its_ends(most: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(40_000))
    cut = window.shortened(text, most)
    assert len(cut) <= max(most, 400)
    assert cut[:50] == text[:50]
    assert cut[-20:] == text[-20:]


def test_a_cache_mark_survives_a_cut() -> None:
    asked = request(Text("x" * 100_000))
    marked = replace(asked, system=(replace(asked.system[0]),))
    assert window.fit(marked, 12_000).system == marked.system
