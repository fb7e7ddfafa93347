from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.text import (
    CodeBlock,
    Document,
    Link,
    ListBlock,
    Paragraph,
    Quote,
    Strong,
    Table,
    Text,
    parse,
)
from bot.gateway.text_layout import aligned, as_list, plain, shown, width
from bot.gateway.text_units import columns


def only(source: str) -> object:
    (block,) = parse(source).blocks
    return block


@pytest.mark.case(17)
def test_case_17_underscores_inside_words_stay_and_the_rest_is_formatted() -> None:
    assert only("set MAX_RETRY_COUNT to 3 and **save**") == Paragraph(
        (Text("set MAX_RETRY_COUNT to 3 and "), Strong((Text("save"),)))
    )


@pytest.mark.case(15, 16)
@pytest.mark.parametrize(
    "source", ["Hello. 3-2=1!", "Test ('a' => 'b')", "2 * 3 and 4 * 5", "a < b && c", "~1 [x] {y}"]
)
def test_case_15_and_16_punctuation_is_text(source: str) -> None:
    assert only(source) == Paragraph((Text(source),))


@pytest.mark.case(2)
def test_case_02_what_cannot_be_encoded_is_replaced() -> None:
    assert shown(parse("a\ud83d b\0 `\udfff`")) == "a\ufffd b\ufffd \ufffd"


def test_html_is_text() -> None:
    assert plain(parse("<b>x</b> <!-- y -->")) == "<b>x</b> <!-- y -->"
    assert plain(parse("<div>\nx\n</div>")) == "<div>\nx\n</div>"


def test_images_and_bare_addresses_are_links() -> None:
    assert only("![chart](https://evil/?d=1)") == Paragraph((Link("https://evil/?d=1", (Text("chart"),)),))
    assert only("see https://a.example/x_(y)). ok") == Paragraph(
        (
            Text("see "),
            Link("https://a.example/x_(y)", (Text("https://a.example/x_(y)"),)),
            Text("). ok"),
        )
    )


def test_an_address_in_code_is_code() -> None:
    assert "Link" not in repr(only("`https://a.example`"))


def test_reference_definitions_are_kept_as_text() -> None:
    assert plain(parse("[a]: https://a.example")) == "[a]: https://a.example"


@pytest.mark.parametrize("source", ["-", "#", "> ", "```", "```py\n```", ">" * 90 + " deep\n\nafter"])
def test_what_would_show_nothing_is_read_literally(source: str) -> None:
    assert shown(parse(source)).strip()
    assert "after" not in source or "after" in shown(parse(source))


@pytest.mark.parametrize("source", ["", " \n\t", "\n\n"])
def test_blank_source_is_an_empty_document(source: str) -> None:
    assert parse(source) == Document(())


def test_lists_keep_their_numbers_and_nesting() -> None:
    assert plain(parse("3. c\n4. d\n   - e\n     f\n\n- g")) == "3. c\n4. d\n   • e\n      f\n\n• g"


def test_code_in_a_list_keeps_its_own_indentation() -> None:
    assert shown(parse("- run\n\n  ```sh\n  a\n    b\n  ```")) == "• run\n\na\n  b"


def test_plain_says_where_links_lead_and_what_is_quoted() -> None:
    assert plain(parse("[t](https://x.example) <https://y.example>\n\n> q\n> r")) == (
        "t (https://x.example) https://y.example\n\n> q\n> r"
    )


TABLE = "| Name | Ort | Zahl |\n|---|:-:|--:|\n| 東京支社の長い名前 | x | 12 |\n| a | yyyy | 3 |"


@pytest.mark.case(22)
def test_case_22_a_table_with_a_wide_cell_is_aligned_by_columns() -> None:
    table = only(TABLE)
    assert isinstance(table, Table)
    lines = aligned(table).split("\n")
    assert lines == [
        "Name               | Ort  | Zahl",
        "-------------------+------+-----".replace("-------------------", "-" * 19),
        "東京支社の長い名前 |  x   |   12",
        "a                  | yyyy |    3",
    ]
    assert len({columns(line) for line in lines}) == 1


@pytest.mark.case(22)
def test_case_22_a_table_too_wide_becomes_header_value_lists() -> None:
    wide = "| Name | Text | Rest |\n|---|---|---|\n| n | " + "w" * 80 + " | r |\n| m |  | s |"
    assert shown(parse(wide)) == f"• Name: n\n   Text: {'w' * 80}\n   Rest: r\n• Name: m\n   Rest: s"


@pytest.mark.case(22)
def test_case_22_a_table_without_rows_or_headers_loses_nothing() -> None:
    table = only("| a | b |\n|---|---|")
    assert isinstance(table, Table)
    assert shown(Document((as_list(table),))) == "• a, b"
    headless = only("| | b |\n|---|---|\n| x | y |")
    assert isinstance(headless, Table)
    assert shown(Document((as_list(headless),))) == "• x\n   b: y"


def test_fence_info_and_text() -> None:
    assert only("```py title\nx\n\ny\n```") == CodeBlock("py title", "x\n\ny")
    assert isinstance(only("1. x"), ListBlock)


@pytest.mark.case(22)
@pytest.mark.parametrize("row", ["| x | y | z |", "x | y | z", "> | x | `y|z` |"])
def test_case_22_cells_without_a_header_are_not_dropped(row: str) -> None:
    quote = "> " if row.startswith(">") else ""
    text = shown(parse(f"{quote}| a | b |\n{quote}|---|---|\n{row}"))
    assert [c for c in text if c in "xyz"] == ["x", "y", "z"]


@given(st.text(alphabet="ab *_[]<>#-+:\n\\!1.&;", max_size=200))
def test_every_letter_of_the_source_is_shown_in_order(source: str) -> None:
    text = shown(parse(source))
    assert [c for c in text if c in "ab"] == [c for c in source if c in "ab"]
    assert bool(text.strip()) == bool(source.strip())


@pytest.mark.parametrize(
    "source",
    [
        "*" * 5000 + "x" + "*" * 5000,
        "~~" * 500 + "x" + "~~" * 500,
        "**" * 300 + "x" + "**" * 300,
    ],
)
def test_marks_within_marks_without_end_are_read_literally(source: str) -> None:
    assert shown(parse(source)) == source


def test_marks_may_nest_as_deep_as_anybody_writes_them() -> None:
    (paragraph,) = parse("> " * 5 + "***~~x~~***").blocks
    assert shown(parse("***~~x~~***")) == "x"
    assert isinstance(paragraph, Quote)


def test_the_width_of_a_table_is_known_without_writing_it() -> None:
    one = parse("|a|b|\n|--|:-:|\n|漢字|2|\n|longer|3|").blocks[0]
    assert isinstance(one, Table)
    assert width(one) == max(columns(line) for line in aligned(one).split("\n"))


def test_one_long_cell_among_many_rows_does_not_pad_every_row() -> None:
    wide = parse("|a|b|\n|-|-|\n|" + "x" * 50_000 + "|2|\n" + "|1|2|\n" * 2_000)
    tracemalloc.start()
    try:
        shown(wide)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
