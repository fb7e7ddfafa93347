from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway.text import CodeBlock, Document, Heading, Paragraph, Table, inline_text, literal, parse
from bot.gateway.text_layout import SHOWN, Bare, Measure, shown
from bot.gateway.text_split import cut, split
from bot.gateway.text_units import is_boundary, utf16_len
from tests.gateway.fenced import fenced

FAMILY = "👨‍👩‍👧‍👦"


def shown_units(document: Document) -> int:
    return utf16_len(shown(document))


def fenced_length(document: Document) -> int:
    return len(fenced(document))


def telegram(source: str, limit: int = 4096) -> list[str]:
    return [shown(part) for part in split(parse(source), shown_units, limit)]


def discord(source: str, limit: int = 2000) -> list[str]:
    return [fenced(part) for part in split(parse(source), fenced_length, limit)]


@pytest.mark.case(1)
@pytest.mark.parametrize("unit", ["😀", FAMILY, "🇩🇪", "a", "漢", "👍🏽"])
def test_case_01_text_without_spaces_is_cut_by_utf16_units(unit: str) -> None:
    source = unit * (6000 // utf16_len(unit))
    parts = telegram(source)
    assert "".join(parts) == source
    assert all(utf16_len(part) <= 4096 for part in parts)
    assert all(len(part) % len(unit) == 0 for part in parts), "cut between clusters only"
    assert len(parts) == 2


@pytest.mark.case(2)
@pytest.mark.parametrize("at", [4093, 4094, 4095, 4096])
@pytest.mark.parametrize("char", ["🎩", FAMILY, "🇩🇪", "e\u0301"])
def test_case_02_a_cut_near_a_wide_character_leaves_it_whole(at: int, char: str) -> None:
    source = "a" * (at - 300) + " " + "a" * 299 + char + "tail " * 20
    parts = telegram(source)
    assert "".join(parts).split() == source.split()
    assert all(utf16_len(part) <= 4096 for part in parts)
    for part in parts:
        part.encode("utf-8")
    assert any(char in part for part in parts)


@pytest.mark.case(2)
def test_case_02_a_cluster_longer_than_a_part_is_cut_between_code_points() -> None:
    source = "a" + "\u0301" * 9000
    parts = telegram(source)
    assert "".join(parts) == source
    assert all(utf16_len(part) <= 4096 for part in parts)


def fences_balance(part: str) -> bool:
    return len(re.findall(r"^```", part, re.MULTILINE)) % 2 == 0


@pytest.mark.case(3)
@pytest.mark.parametrize("info", ["x" * 1900, "x" * 1990, "x" * 5000, "py " + "y" * 500])
def test_case_03_a_long_info_string_falls_back_to_a_bare_fence(info: str) -> None:
    code = [f"line {n} of the code" for n in range(200)]
    parts = discord(f"```{info}\n" + "\n".join(code) + "\n```")
    assert all(len(part) <= 2000 and fences_balance(part) for part in parts)
    assert [line for part in parts for line in part.split("\n")[1:-1]] == code
    assert all(part.startswith("```\n") for part in parts)


@pytest.mark.case(3)
def test_case_03_a_short_info_string_is_repeated_in_every_part() -> None:
    parts = discord("```python\n" + "x = 1\n" * 900 + "```")
    assert len(parts) > 2
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in parts)


@pytest.mark.case(4)
@pytest.mark.parametrize("inside", range(1985, 2006))
def test_case_04_the_closer_is_counted(inside: int) -> None:
    code = "a" * (inside // 2) + "\n" + "b" * (inside - inside // 2 - 1)
    parts = discord(f"```\n{code}\n```\n\nafter")
    assert all(len(part) <= 2000 and fences_balance(part) for part in parts)
    assert "".join(parts).count("a") >= inside // 2


@pytest.mark.case(4)
def test_case_04_an_overlong_line_of_code_is_cut_within_its_fence() -> None:
    parts = discord("```js\n" + "x" * 5000 + "\n```")
    assert "".join(part.split("\n")[1] for part in parts) == "x" * 5000
    assert all(len(part) <= 2000 and fences_balance(part) for part in parts)


def test_a_fence_inside_code_does_not_end_it() -> None:
    code = "```\nx\n```\n" * 400
    parts = discord(f"`````\n{code}\n`````")
    assert all(len(part) <= 2000 for part in parts)
    assert all(part.startswith("````\n") and part.endswith("\n````") for part in parts)


@pytest.mark.case(6)
@pytest.mark.parametrize("before", range(4080, 4098, 2))
def test_case_06_bold_words_over_the_boundary_are_bold_in_both_parts(before: int) -> None:
    document = parse("a" * before + " **bold words here** end")
    parts = split(document, shown_units, 4096)
    assert "".join(shown(part) for part in parts) == shown(document)
    bold = "".join(match for part in parts for match in re.findall(r"\*\*(.*?)\*\*", fenced(part)))
    assert bold == "bold words here"


@pytest.mark.case(8)
def test_case_08_a_cut_inside_inline_code_leaves_code_on_both_sides() -> None:
    parts = discord("word " * 390 + "`" + "c" * 300 + "`", 2000)
    assert all(len(part) <= 2000 and part.count("`") % 2 == 0 for part in parts)
    assert "".join(parts).count("c") == 300


def test_prefers_paragraph_then_line_then_sentence_then_word() -> None:
    assert telegram("one two.\n\nthree four", 12) == ["one two.", "three four"]
    assert telegram("one two three\nfour five", 18) == ["one two three\n", "four five"]
    assert telegram("One two. Three four", 14) == ["One two. ", "Three four"]
    assert telegram("一二三四。五六七八", 6) == ["一二三四。", "五六七八"]
    assert telegram("one twothree", 9) == ["one ", "twothree"]
    assert telegram("onetwothree", 9) == ["onetwothr", "ee"]


def test_a_heading_goes_with_what_it_heads() -> None:
    assert telegram("a" * 60 + "\n\n# Title\n\n" + "b" * 60, 80) == ["a" * 60, "Title\n\n" + "b" * 60]


def test_a_block_of_code_that_fits_is_not_torn() -> None:
    assert telegram("intro\n\n```\n" + "c\n" * 35 + "```", 75) == ["intro", "\n".join("c" * 35)]


def test_list_items_keep_their_numbers_over_parts() -> None:
    parts = telegram("\n".join(f"{n}. item number {n}" for n in range(1, 30)), 100)
    assert [int(n) for part in parts for n in re.findall(r"^(\d+)\.", part, re.MULTILINE)] == list(range(1, 30))
    long = telegram("1. " + "word " * 40 + "\n2. next", 60)
    assert [line[:2] for part in long for line in part.split("\n") if line[:1].isdigit()] == ["1.", "2."]


def table(rows: int, cell: str = "漢字") -> str:
    return "| A | B | C |\n|---|---|---|\n" + "\n".join(f"| r{n} | {cell} | x |" for n in range(rows))


@pytest.mark.case(22)
def test_case_22_a_table_that_fits_is_never_torn() -> None:
    document = parse("word " * 700 + "\n\n" + table(50) + "\n\nend")
    parts = split(document, shown_units, 4096)
    assert all(shown_units(part) <= 4096 for part in parts)
    assert [sum(isinstance(b, Table) for b in part.blocks) for part in parts] == [0, 1]


@pytest.mark.case(22)
def test_case_22_a_table_larger_than_a_part_becomes_lists_of_whole_rows() -> None:
    parts = telegram(table(600), 4096)
    assert len(parts) > 1
    assert all(utf16_len(part) <= 4096 for part in parts)
    rows = [part.split("• ")[1:] for part in parts]
    assert [row.strip() for part in rows for row in part] == [f"A: r{n}\n   B: 漢字\n   C: x" for n in range(600)]


def test_parts_that_would_show_nothing_are_left_out() -> None:
    (part,) = telegram("a\n\n```\n" + "\n" * 9000 + "\n```")
    assert part.strip() == "a"
    assert telegram("") == []


def test_a_limit_that_nothing_fits_into_is_an_error() -> None:
    with pytest.raises(ValueError, match="not one character"):
        split(parse("```\nx\n```"), fenced_length, 5)


def test_deep_containers_whose_marks_eat_the_room_are_opened() -> None:
    parts = split(parse("> " * 15 + "word " * 30), fenced_length, 40)
    assert all(fenced_length(part) <= 40 for part in parts)
    assert "".join(shown(part) for part in parts).split() == ["word"] * 30


def test_a_long_document_is_split_in_reasonable_time() -> None:
    measured = 0

    def counted(document: Document) -> int:
        nonlocal measured
        size = shown_units(document)
        measured += size
        return size

    source = "a\n\n" * 20_000 + "**b** c " * 10_000
    parts = split(parse(source), counted, 4096)
    assert len(parts) < 50
    assert measured < 60 * len(source), "the cost follows the parts, not the square of the text"


SNIPPETS = st.sampled_from(
    [
        "word ", "**bold text** ", "*it* ", "~~gone~~ ", "`code` ", "[link](https://x.example/abc) ", "\n",
        "\n\n", "\n\n# Head\n\n", "\n- item one\n- item two\n", "\n1. first\n   - sub\n\n   para\n2. second\n",
        "\n> quoted\n> more\n\n",
        "\n```py\ncode line\n\nother\n```\n", "\n\n" + table(3) + "\n\n", "😀", FAMILY, "🇩🇪🇫🇷", "漢字。", "e\u0301",
        "x" * 70,
        "\n---\n", "\\* ", "<b>&amp;", " | ", "https://a.example/" + "p" * 50 + " ",
    ]
)  # fmt: skip


def letters(text: str) -> str:
    return re.sub(r"[\s•|+\-]|\d+\. ", "", text)


@settings(max_examples=300, deadline=None)
@given(st.lists(SNIPPETS, max_size=40).map("".join), st.integers(50, 400))
def test_no_part_is_over_the_limit_and_no_text_is_lost(source: str, limit: int) -> None:
    document = parse(source)
    parts = split(document, shown_units, limit)
    assert all(0 < shown_units(part) <= limit for part in parts)
    if not any(isinstance(block, Table) for block in document.blocks):  # a torn table is written another way
        assert letters("".join(shown(part) for part in parts)) == letters(shown(document))


@settings(max_examples=300, deadline=None)
@given(st.lists(SNIPPETS, max_size=40).map("".join), st.integers(100, 400))
def test_fences_balance_and_marks_are_counted(source: str, limit: int) -> None:
    for part in split(parse(source), fenced_length, limit):
        text = fenced(part)
        assert len(text) <= limit
        assert fences_balance(text)


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(20, 100))
def test_any_text_is_cut_between_clusters_without_loss(text: str, limit: int) -> None:
    document = literal(text)
    parts = split(document, shown_units, limit)
    joined = "".join(shown(part) for part in parts)
    assert "".join(joined.split()) == "".join(shown(document).split())
    for part in parts:
        assert shown_units(part) <= limit


@given(st.text(alphabet="ab😀\u0301🇩🇪\u200d👩", max_size=60), st.integers(16, 40))
def test_case_02_cuts_are_cluster_boundaries(text: str, limit: int) -> None:
    document = literal(text)
    at = 0
    source = shown(document)
    for part in split(document, shown_units, limit):
        at += len(shown(part))
        assert is_boundary(source, at)


@given(st.lists(SNIPPETS, max_size=10).map("".join), st.data())
def test_cut_keeps_every_character_on_its_side(source: str, data: st.DataObject) -> None:
    for block in parse(source).blocks:
        if isinstance(block, Paragraph | Heading):
            text = inline_text(block.children)
            at = data.draw(st.integers(0, len(text)))
            left, right = cut(block.children, at)
            assert (inline_text(left), inline_text(right)) == (text[:at], text[at:])


def test_code_blocks_stay_code_blocks() -> None:
    parts = split(parse("```py\n" + "x = 1\n" * 50 + "```"), shown_units, 100)
    assert all(part.blocks and isinstance(part.blocks[0], CodeBlock) for part in parts)


@settings(max_examples=150, deadline=None)
@given(st.lists(SNIPPETS, max_size=40).map("".join), st.integers(10, 400))
def test_a_measure_is_exact_as_far_as_the_limit_and_over_it_beyond(source: str, limit: int) -> None:
    document = parse(source)
    measure = Measure(SHOWN, utf16_len, limit)
    size = shown_units(document)
    for _ in range(2):
        found = measure(document)
        assert found == size if size <= limit else found > limit


def test_what_a_part_cannot_take_is_not_looked_at_for_every_part() -> None:
    looked_at = 0

    class Counting(Bare):
        def text(self, text: str) -> str:
            nonlocal looked_at
            looked_at += len(text)
            return text

    source = table(4000)
    parts = split(parse(source), Measure(Counting(), len, 500), 500)
    assert len(parts) > 100
    assert looked_at < 20 * len(source)
