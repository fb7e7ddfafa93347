from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway.codec import dump_operation, load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import OutboundOp, OutFile, Reply, Send
from bot.gateway.text_units import utf16_len
from bot.kernel.ids import BlobHash
from channels.telegram.render import AGAIN, draft_text, marked, plan
from tests.fakes.telegram_text import parse_html
from tests.gateway.test_text_split import SNIPPETS, table

PATH = ReplyPath("telegram:-100:7", "7", "telegram:-100:10")
FILE = OutFile("report.md", "text/markdown", BlobHash("0" * 64))


def sends(markdown: str, *files: OutFile) -> list[Send]:
    found = plan(Reply(PATH, markdown, files))
    assert all(isinstance(op, Send) for op in found)
    return [op for op in found if isinstance(op, Send)]


def one(markdown: str) -> str:
    (send,) = sends(markdown)
    return send.text


@pytest.mark.case(17)
def test_case_17_an_odd_underscore_costs_nothing() -> None:
    assert one("set MAX_RETRY_COUNT to 3 and **save**") == "set MAX_RETRY_COUNT to 3 and <b>save</b>"


@pytest.mark.case(15, 16)
@pytest.mark.parametrize("source", ["Hello. 3-2=1!", "Test ('a' =&gt; 'b')", "x_y*z ~ #1 | {}"])
def test_case_15_and_16_only_three_characters_are_escaped(source: str) -> None:
    assert one(html.unescape(source)) == source


def test_every_mark() -> None:
    assert one("# T & U") == "<b>T &amp; U</b>"
    assert one("*a* ~~b~~ `c<d`") == "<i>a</i> <s>b</s> <code>c&lt;d</code>"
    assert one('[t](https://x.example/?a=1&b="2")') == '<a href="https://x.example/?a=1&amp;b=%222%22">t</a>'
    assert one("see https://x.example/?a&b") == "see https://x.example/?a&amp;b"
    assert one("```py\nif a < b:\n```") == '<pre><code class="language-py">if a &lt; b:</code></pre>'
    assert one('```"><b>\nx\n```') == "<pre>x</pre>"
    assert one("> a\n> > b") == "<blockquote>a\n\nb</blockquote>"
    assert one("- a\n- b") == "• a\n• b"


@pytest.mark.case(22)
def test_case_22_a_table_is_a_monospace_block() -> None:
    assert one(table(1)) == "<pre>A  | B    | C\n---+------+--\nr0 | 漢字 | x</pre>"


@pytest.mark.case(1)
def test_case_01_parts_count_utf16_units() -> None:
    parts = sends("😀" * 3000)
    assert [utf16_len(part.text) <= 4096 for part in parts] == [True, True]
    assert "".join(part.text for part in parts) == "😀" * 3000


@pytest.mark.case(6)
def test_case_06_marks_over_a_boundary_are_whole_in_every_part() -> None:
    parts = sends("a" * 4040 + " **bold words here** " + "b" * 60)
    assert len(parts) == 2
    for part in parts:
        parse_html(part.text)


@pytest.mark.case(8)
def test_case_08_every_part_carries_its_plain_form() -> None:
    (part,) = sends("**a** [t](https://x.example) `c`")
    assert part.plain == "a t (https://x.example) c"
    parts = sends(" ".join(f"[t{n}](https://x.example/{'p' * 60})" for n in range(400)))
    assert all(utf16_len(AGAIN + part.plain) <= 4096 for part in parts)


@pytest.mark.case(12)
@pytest.mark.parametrize("length", [1, 900, 1024, 1500, 5000])
def test_case_12_a_caption_is_at_most_1024_and_nothing_is_lost(length: int) -> None:
    parts = sends("w" * length, FILE)
    assert "".join(part.text for part in parts) == "w" * length
    assert [len(part.files) for part in parts] == [0] * (len(parts) - 1) + [1]
    assert all(utf16_len(marked(part).plain) <= 1024 for part in parts if part.files)
    assert len(parts) == (1 if length <= 900 else 2 if length <= 1500 else 3)


def test_several_files_follow_the_text_in_order() -> None:
    parts = sends("hello", FILE, OutFile("b.txt", "text/plain", BlobHash("1" * 64)))
    assert [[file.name for file in part.files] for part in parts] == [[], ["report.md"], ["b.txt"]]
    assert [len(part.files) for part in sends("", FILE)] == [1]


def test_only_the_first_part_answers() -> None:
    parts = sends("word " * 2000, FILE)
    assert [part.path.ref for part in parts] == ["telegram:-100:10"] + [None] * (len(parts) - 1)
    assert {part.path.thread for part in parts} == {"telegram:-100:7"}


@pytest.mark.case(143)
def test_case_143_a_repeated_send_is_marked_within_the_limit() -> None:
    for part in sends("😀" * 3000):
        again = marked(part)
        text, _ = parse_html(again.text)
        assert text.startswith("↻")
        assert utf16_len(text) <= 4096
        assert utf16_len(again.plain) <= 4096


def test_an_empty_reply_has_no_parts_and_odd_markdown_always_some() -> None:
    assert sends("  \n") == []
    for odd in ("-", "#", "```", "> ", "|", "[a]: b"):
        assert len(sends(odd)) == 1


@pytest.mark.case(13)
def test_case_13_a_draft_that_is_full_shows_its_first_message() -> None:
    assert draft_text("**bold") == ("**bold", False)
    assert draft_text("```py\nx = 1") == ('<pre><code class="language-py">x = 1</code></pre>', False)
    text, full = draft_text("word " * 1000)
    assert full
    assert utf16_len(text) <= 4096
    assert draft_text("") == ("", False)


@settings(max_examples=200, deadline=None)
@given(st.lists(SNIPPETS, max_size=120).map("".join))
def test_the_platform_can_parse_every_part_and_it_is_within_the_limit(source: str) -> None:
    for part in sends(source * 3):
        text, _ = parse_html(part.text)
        assert 0 < utf16_len(text) <= 4096
        assert text.strip() == html.unescape(re.sub(r"<[^>]*>", "", part.text)).strip()
        again: OutboundOp = load_operation(dump_operation(part))
        assert again == part
