from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway.codec import dump_operation, load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Choice, OutboundOp, OutFile, Reply, Send
from bot.gateway.text import Table, parse
from bot.gateway.text_layout import shown
from bot.gateway.text_units import utf16_len
from bot.kernel.ids import BlobHash
from channels.slack.render import (
    AGAIN,
    MAX_BLOCKS,
    MAX_SECTION,
    MAX_TEXT,
    blocks,
    draft_text,
    escape,
    halves,
    marked,
    plan,
    question,
)
from tests.fakes.slack_blocks import block_faults, pings
from tests.gateway.test_text_split import SNIPPETS, table

PATH = ReplyPath("slack:T1:C1:1.0", "U1", "slack:T1:C1:1.0")
FILE = OutFile("report.md", "text/markdown", BlobHash("0" * 64))


def sends(markdown: str, *files: OutFile) -> list[Send]:
    found = plan(Reply(PATH, markdown, files))
    assert all(isinstance(op, Send) for op in found)
    return [op for op in found if isinstance(op, Send)]


def one(markdown: str) -> str:
    (send,) = sends(markdown)
    return send.text


@pytest.mark.case(18)
def test_case_18_common_mark_becomes_mrkdwn() -> None:
    assert one("**A** [t](https://example.com/?a=1&b=2)") == "*A* <https://example.com/?a=1&amp;b=2|t>"
    assert one("# T & **U**") == "*T &amp; U*"
    assert one("*a* __b__ ~~c~~ `d*e`") == "_a_ *b* ~c~ `d*e`"
    assert one("```py\nif a < b:\n    **x**\n```") == "```\nif a &lt; b:\n    **x**\n```"
    assert one("> a\n> b") == "> a\n> b"
    assert one("- a\n- b") == "• a\n• b"
    assert one("see https://x.example/?a&b.") == "see <https://x.example/?a&amp;b>."
    assert one("[a@b.example](mailto:a@b.example)") == "<mailto:a@b.example|a@b.example>"


@pytest.mark.case(18)
def test_case_18_marks_do_not_span_lines() -> None:
    assert one("**a  \nb**") == "*a*\n*b*"


@pytest.mark.case(24)
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("if a < b && c: <!here> <@U000>", "if a &lt; b &amp;&amp; c: &lt;!here&gt; &lt;@U000&gt;"),
        ("a &amp; b &lt; c", "a &amp; b &lt; c"),
        ("`<!channel>` & `<#C1>`", "`&lt;!channel&gt;` &amp; `&lt;#C1&gt;`"),
        ("```\n<!everyone>\n```", "```\n&lt;!everyone&gt;\n```"),
        ("# <!subteam^S1>", "*&lt;!subteam^S1&gt;*"),
        ("see https://x.example/a|b", "see <https://x.example/a%7Cb>"),
    ],
)
def test_case_24_what_would_be_live_is_escaped_once(source: str, text: str) -> None:
    assert one(source) == text
    (send,) = sends(source)
    assert pings({"text": send.text}) == pings({"text": send.plain}) == []


@pytest.mark.case(24)
@pytest.mark.parametrize("href", ["!here", "@U000", "javascript:alert(1)", "#C1", "file:///etc/passwd"])
def test_case_24_no_link_leads_anywhere_but_out(href: str) -> None:
    text = one(f"[label]({href})")
    assert "<" not in text
    assert "label" in text


@pytest.mark.case(24)
def test_case_24_an_address_cannot_break_out_of_its_brackets() -> None:
    text = one("[t](<https://x.example/a|b> c>)")
    assert pings({"text": text}) == []
    assert one("[a <!here> b](https://x.example)") == "<https://x.example|a &lt;!here&gt; b>"


@pytest.mark.case(22)
def test_case_22_a_table_is_an_aligned_block_or_a_list() -> None:
    assert one(table(1)) == "```\nA  | B    | C\n---+------+--\nr0 | 漢字 | x\n```"
    wide = f"| Name | Text |\n|---|---|\n| a | {'word ' * 30}|"
    assert one(wide).startswith("• *Name*: a\n   *Text*: word")


@pytest.mark.case(22)
def test_case_22_a_table_is_never_torn() -> None:
    parts = sends("x" * 3900 + "\n\n" + table(5))
    assert len(parts) == 2
    assert parts[1].text.startswith("```\nA ")
    assert parts[1].text.endswith("\n```")


@pytest.mark.case(9)
def test_case_09_every_text_is_at_most_4000() -> None:
    parts = sends("x" * 4100)
    assert "".join(part.text for part in parts) == "x" * 4100
    assert all(utf16_len(marked(part.text, part.plain)[0]) <= MAX_TEXT for part in parts)
    assert all(len(part.text) <= MAX_TEXT for part in sends("&" * 4000)), "escaping counts"


@pytest.mark.case(9)
def test_case_09_a_text_that_is_still_too_long_is_cut_again_without_loss() -> None:
    assert halves("aaa bbb\nccc ddd") == ("aaa bbb", "ccc ddd")
    assert halves("x" * 10) == ("x" * 5, "x" * 5)
    assert "".join(halves("😀" * 9)) == "😀" * 9


@pytest.mark.case(11)
def test_case_11_sixty_tables_stay_within_fifty_blocks_and_in_order() -> None:
    tables = "\n\n".join(f"Table {n}\n\n{table(2)}" for n in range(60))
    parts = sends(tables)
    for part in parts:
        laid_out = blocks(part.text)
        assert laid_out is not None
        assert len(laid_out) <= MAX_BLOCKS
        assert block_faults(laid_out) == []
    numbers = [int(n) for part in parts for n in re.findall(r"Table (\d+)", part.text)]
    assert numbers == list(range(60))


def test_sections_take_the_whole_text_and_close_what_they_cut() -> None:
    code = "\n".join(f"line {n} of the code" for n in range(180))
    (part,) = sends(f"intro\n\n```\n{code}\n```\n\nend")
    laid_out = blocks(part.text)
    assert laid_out is not None
    assert block_faults(laid_out) == []
    texts = [section(block) for block in laid_out]
    assert len(texts) == 2
    assert all(text.count("```") % 2 == 0 for text in texts)
    assert [line for text in texts for line in text.split("\n") if line.startswith("line")] == code.split("\n")
    assert blocks("y" * 3500) is None, "a line that fits into no section goes out as text"


def section(block: dict[str, object]) -> str:
    inner = block["text"]
    assert isinstance(inner, dict)
    assert inner["verbatim"] is True
    return str(inner["text"])


def test_a_question_has_its_buttons_beneath_the_whole_text() -> None:
    choices = [Choice(f"token-{n}", f"Choice {n} " + "x" * 100) for n in range(30)]
    for text in ("Shall I?", "word " * 780, "y" * 3900):
        laid_out = question(text, choices)
        assert block_faults(laid_out) == []
        kinds = [block["type"] for block in laid_out]
        assert kinds == ["section"] * (len(kinds) - 2) + ["actions"] * 2
        said = "".join(section(block) for block in laid_out[:-2])
        assert said.replace("\n", "").replace(" ", "") == text.replace(" ", "")


@pytest.mark.case(13)
def test_case_13_a_draft_that_is_full_shows_exactly_its_final_first_message() -> None:
    assert draft_text("**bold") == ("**bold", "**bold", False)
    assert draft_text("") == ("", "", False)
    source = "word " * 1000
    text, _, full = draft_text(source)
    assert full
    assert text == sends(source)[0].text
    assert text == draft_text(source + "and more")[0]


@pytest.mark.case(76)
def test_case_76_silence_is_no_message() -> None:
    assert sends("  \n") == []


def test_files_follow_the_text_one_by_one() -> None:
    parts = sends("hello", FILE, OutFile("b.txt", "text/plain", BlobHash("1" * 64)))
    assert [[file.name for file in part.files] for part in parts] == [[], ["report.md"], ["b.txt"]]
    assert [part.text for part in parts] == ["hello", "", ""]
    assert [len(part.files) for part in sends("", FILE)] == [1]


@pytest.mark.case(143)
def test_case_143_a_repeated_message_says_so_within_the_limit() -> None:
    for part in sends("😀" * 3000):
        text, plain = marked(part.text, part.plain)
        assert text.startswith("_↻")
        assert plain.startswith(AGAIN)
        assert max(utf16_len(text), utf16_len(plain)) <= MAX_TEXT


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]", text))


def seen(part: Send) -> str:
    """The words of a message: of a link its label."""
    text = re.sub(r"<([^|>]*)\|([^>]*)>", r"\2", part.text)
    return html.unescape(re.sub(r"<([^>]*)>", r"\1", text))


@settings(max_examples=150, deadline=None)
@given(st.lists(SNIPPETS, max_size=120).map("".join))
def test_parts_are_within_the_limits_ping_nobody_and_lose_nothing(source: str) -> None:
    source *= 3
    parts = sends(source)
    for part in parts:
        assert 0 < utf16_len(part.text) <= MAX_TEXT
        assert 0 < utf16_len(part.plain) <= MAX_TEXT
        assert len(re.findall("```", part.text)) % 2 == 0
        laid_out = blocks(part.text)
        if laid_out is not None:
            assert block_faults(laid_out) == []
            sections = [section(block) for block in laid_out]
            assert all(utf16_len(one) <= MAX_SECTION for one in sections)
            assert re.sub(r"\s|```", "", "".join(sections)) == re.sub(r"\s|```", "", part.text)
        assert pings({"text": part.text, "blocks": laid_out}) == pings({"text": part.plain}) == []
        again: OutboundOp = load_operation(dump_operation(part))
        assert again == part
    document = parse(source)
    if not any(isinstance(block, Table) for block in document.blocks):  # a torn table is written another way
        assert letters("".join(seen(part) for part in parts)) == letters(shown(document))


@given(st.text(max_size=300))
def test_nothing_that_anybody_writes_becomes_live(text: str) -> None:
    for part in sends(text):
        assert pings({"text": part.text}) == []
    assert "<" not in escape(text)
