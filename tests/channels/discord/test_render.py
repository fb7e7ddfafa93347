"""Replies in Discord's form: limits, escapes, and nothing lost."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway.events import ReplyPath
from bot.gateway.operations import OpenThread, OutboundOp, OutFile, Reply, Send
from bot.gateway.text import parse
from bot.gateway.text_layout import render, shown
from bot.kernel.ids import BlobHash
from channels.discord.render import AGAIN, FORM, MAX_TEXT, draft_text, marked, plan

PATH = ReplyPath("discord:1:2", "7", "discord:2:3")


def form(source: str) -> str:
    return render(parse(source), FORM)


def sends(source: str, *files: OutFile, path: ReplyPath = PATH) -> list[Send]:
    return [op for op in plan(Reply(path, source, files)) if isinstance(op, Send)]


def fits(ops: list[Send]) -> bool:
    return all(len(marked(op.text)) <= MAX_TEXT and len(op.plain) <= MAX_TEXT for op in ops)


def bare(text: str) -> str:
    """The characters that a reader sees, without blanks."""
    return re.sub(r"\s|\u200b", "", text)


def unescaped(text: str) -> str:
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text)


def balanced(text: str) -> bool:
    return text.count("```") % 2 == 0


# Limits.


@pytest.mark.case(1, 2)
@pytest.mark.parametrize("source", ["😀" * 3000, "a" * 1999 + "🎩" + " word" * 300, "👨‍👩‍👧‍👦" * 500, "é" * 5000])
def test_case_01_02_every_part_fits_and_nothing_is_dropped(source: str) -> None:
    ops = sends(source)
    assert fits(ops)
    assert bare("".join(op.text for op in ops)) == bare(source)
    assert all(op.text.encode() for op in ops)


@pytest.mark.case(3)
def test_case_03_a_fence_with_a_huge_info_string_fits() -> None:
    source = "```" + "x" * 1900 + "\n" + "\n".join(f"line {n}" for n in range(500)) + "\n```"
    ops = sends(source)
    assert fits(ops)
    assert all(balanced(op.text) for op in ops)
    assert bare("".join(op.text for op in ops)).replace("```", "") == bare("".join(f"line {n}" for n in range(500)))


@pytest.mark.case(3)
def test_case_03_the_language_is_kept_in_every_part() -> None:
    ops = sends("```python\n" + "print('hello')\n" * 300 + "```")
    assert len(ops) > 2
    assert all(op.text.startswith("```python\n") and op.text.endswith("\n```") for op in ops)


@pytest.mark.case(4)
@pytest.mark.parametrize("size", range(1940, 2004))
def test_case_04_the_closing_fence_is_counted(size: int) -> None:
    ops = sends("```\n" + "y" * (size - 4) + "\n```")
    assert fits(ops)
    assert all(balanced(op.text) for op in ops)


@pytest.mark.case(6, 8)
def test_case_06_08_marks_that_a_cut_runs_through_are_closed_and_opened_again() -> None:
    ops = sends("w " * 900 + "**" + "bold words here " * 60 + "**" + " `" + "code " * 80 + "`")
    assert fits(ops)
    assert len(ops) > 1
    assert all(op.text.count("**") % 2 == 0 and op.text.count("`") % 2 == 0 for op in ops)


@pytest.mark.case(13)
def test_case_13_a_draft_is_full_at_the_limit() -> None:
    assert draft_text("word " * 100) == (("word " * 100).strip(), False)
    text, full = draft_text("word " * 1000)
    assert full
    assert len(text) <= MAX_TEXT
    assert draft_text("  ") == ("", False)


# Markup.


@pytest.mark.case(16, 17)
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Test ('a' => 'b')", "Test ('a' => 'b')"),
        ("set MAX_RETRY_COUNT to 3 and **save**", "set MAX\\_RETRY\\_COUNT to 3 and **save**"),
        ("2 * 3 and `rm -rf *`", "2 \\* 3 and `rm -rf *`"),
        ("a < b and \\<@7\\>", "a \\< b and \\<@7>"),
        ("||hidden|| ~~gone~~", "\\|\\|hidden\\|\\| ~~gone~~"),
        ("*soft* ***both***", "*soft* ***both***"),
        ("# Title\n\n#### Small\n\ntext", "# Title\n\n**Small**\n\ntext"),
        ("> quoted\n> more\n\nown", "> quoted\n> more\n\nown"),
        ("\\# no heading\n\\- no list\n1\\. no number", "\\# no heading\n\\- no list\n1\\. no number"),
        ("``a`b``", "``a`b``"),
        ("[docs](https://a.example/x)", "[docs](<https://a.example/x>)"),
        ("[https://good.example](https://evil.example)", "https://good.example (<https://evil.example>)"),
        ("[good.example](https://evil.example)", "good.example (<https://evil.example>)"),
        ("see https://a.example/b_c_d?x=1*2", "see https://a.example/b_c_d?x=1*2"),
        ("[me](mailto:me@a.example)", "me (mailto:me@a.example)"),
        ("<me@a.example>", "me@a.example"),
        ("- a\n- b", "• a\n• b"),
        ("```js\na ``` b\n```", "```js\na `\u200b`\u200b` b\n```"),
    ],
)
def test_case_16_17_marks_are_real_and_text_stays_text(source: str, expected: str) -> None:
    assert form(source) == expected


@pytest.mark.case(22)
def test_case_22_tables_are_aligned_or_become_lists() -> None:
    table = "| Name | Betrag |\n|---|---:|\n| 東京 | 5 |\n| Bo | 1234 |\n"
    expected = "```\nName | Betrag\n-----+-------\n東京 |      5\nBo   |   1234\n```"
    assert form(table) == expected
    wide = f"| A | B |\n|---|---|\n| {'x' * 50} | {'y' * 50} |\n"
    assert form(wide) == f"• **A**: {'x' * 50}\n   **B**: {'y' * 50}"
    many = sends("intro " * 250 + "\n\n" + table * 1 + "\n")
    assert sum("```" in op.text for op in many) == 1
    assert all(balanced(op.text) for op in many)


@pytest.mark.case(23)
def test_case_23_mentions_in_text_are_no_mentions() -> None:
    text = form("tell @everyone and <@&123> and <@7> and <#5> and <t:1:R> and </ask:3>")
    assert not re.search(r"(?<!\\)<[@#t/]", text)


pieces = st.sampled_from(
    ["word ", "**bold** ", "_em_ ", "`code` ", "\n\n", "\n", "# Head\n\n", "- item\n", "> quote\n", "```py\n",
     "```\n", "| a | b |\n|---|---|\n| c | d |\n", "😀", "[t](https://a.example) ", "\\", "*",
     "~~", "<@1>", "1. one\n", "  ", "|"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(pieces, st.text(max_size=40)), max_size=40), st.integers(1, 15))
def test_no_part_is_too_long_no_fence_open_and_no_text_lost(parts: list[str], times: int) -> None:
    source = "".join(parts) * times
    ops = sends(source)
    assert fits(ops)
    assert all(op.text.strip() for op in ops)
    arrived = bare(unescaped("".join(op.text for op in ops)))
    letters = Counter(c for c in bare(shown(parse(source))) if c.isalpha())
    assert not letters - Counter(arrived)


# Plans.


def test_only_the_first_part_answers_and_a_thread_is_opened_first() -> None:
    path = ReplyPath("discord:1:3", "7", "discord:2:3", opens="Title", fallback="discord:1:2")
    first, *rest = plan(Reply(path, "word " * 900))
    assert first == OpenThread(path, "Title", "discord:2:3")
    assert [op.path.ref for op in rest] == ["discord:2:3"] + [None] * (len(rest) - 1)
    assert all(op.path.fallback == "discord:1:2" for op in rest)


def test_files_go_with_the_last_text_and_ten_to_a_message() -> None:
    files = [OutFile(f"{n}.txt", "text/plain", BlobHash("a" * 64)) for n in range(13)]
    one, two = sends("short", *files)
    assert (one.text, len(one.files), two.text, len(two.files)) == ("short", 10, "", 3)
    (alone,) = sends("", files[0])
    assert alone.files == (files[0],)


@pytest.mark.case(76)
def test_case_76_silence_sends_nothing() -> None:
    silent: tuple[OutboundOp, ...] = plan(Reply(ReplyPath("discord:1:3", "7", opens="x", fallback="y"), " \n"))
    assert silent == ()


def test_a_repetition_says_so() -> None:
    assert marked("text") == f"*{AGAIN}*\ntext"
