"""Documents become sections and chunks without losing a word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.knowledge.cutting import CHUNK, PAGE_END, SECTION, cut, title_of


def said(text: str) -> str:
    return "".join(text.split())


def test_headings_make_sections_with_their_path() -> None:
    text = "before\n\n# A\n\none\n\n## B\ntwo\n\n### C ##\n\nthree\n\n## D\n\nfour\n\n# E\n\nfive"
    sections = cut(text, paged=False)
    assert [(each.heading, each.chunks[0].text) for each in sections] == [
        ("", "before"), ("A", "one"), ("A > B", "two"), ("A > B > C", "three"), ("A > D", "four"), ("E", "five"),
    ]  # fmt: skip


def test_what_only_looks_like_a_heading_is_text() -> None:
    (section,) = cut("#hashtag\n\n####### seven\n\n#\n\na # b", paged=False)
    assert section.heading == ""


def test_pages_are_counted_where_there_are_pages() -> None:
    text = f"one\n{PAGE_END}\n{PAGE_END}\nthree\n\n# H\n\nthree too\n{PAGE_END}\nfour"
    first, second = cut(text, paged=True)
    assert (first.page, first.last_page) == (1, 3)
    assert (second.heading, second.page, second.last_page) == ("H", 3, 4)
    (only,) = cut("one", paged=False)
    assert (only.page, only.last_page) == (None, None)


def test_long_text_is_cut_between_sentences() -> None:
    text = " ".join(f"Sentence number {n} says a little." for n in range(200))
    chunks = [chunk for section in cut(text, paged=False) for chunk in section.chunks]
    assert len(chunks) > 5
    assert all(chunk.text.endswith("little.") for chunk in chunks)
    assert all(len(chunk.text) <= CHUNK + 200 for chunk in chunks)


def test_each_part_of_a_table_has_its_head() -> None:
    rows = "\n".join(f"| item {n} | {n * 7} |" for n in range(200))
    chunks = cut(f"| name | price |\n| --- | --- |\n{rows}", paged=False)[0].chunks
    assert len(chunks) > 2
    assert all(chunk.text.startswith("| name | price |\n| --- | --- |\n| item") for chunk in chunks)


def test_each_part_of_rows_has_the_first_row() -> None:
    rows = "\n".join(f"Anna{n},{n},Berlin" for n in range(300))
    sections = cut(f"name,age,city\n{rows}", paged=False)
    chunks = [chunk for section in sections for chunk in section.chunks]
    assert all(chunk.text.startswith("name,age,city\n") for chunk in chunks)
    assert {int(n) for chunk in chunks for n in re.findall(r"Anna(\d+)", chunk.text)} == set(range(300))


def test_a_section_is_never_too_long_to_be_read() -> None:
    sections = cut("\n\n".join("word " * 100 for _ in range(100)), paged=False)
    assert len(sections) > 5
    assert all(sum(len(chunk.text) for chunk in each.chunks) <= SECTION for each in sections)


@given(st.text(st.sampled_from("ab #|\n\f.,\t-"), max_size=4_000))
def test_no_word_is_lost_or_doubled(text: str) -> None:
    sections = cut(text, paged=True)
    kept = said("".join(chunk.text for section in sections for chunk in section.chunks))
    lines = [line for page in text.split("\f") for line in page.split("\n")]
    plain = said("".join(line for line in lines if not re.fullmatch(r"\s*#{1,6}[ \t]+\S.*", line)))
    if "|" not in text and "," not in text and "\t" not in text:  # heads of tables are repeated on purpose
        assert kept == plain
    else:
        assert set(plain) <= set(kept)
    assert all(chunk.text.strip() for section in sections for chunk in section.chunks)


@given(st.text(max_size=3_000))
def test_any_text_is_cut(text: str) -> None:
    for section in cut(text, paged=False):
        assert all(len(chunk.text) <= CHUNK + 200 for chunk in section.chunks)


def test_the_title_is_the_first_heading_else_the_name() -> None:
    assert title_of("intro\n# The plan #\ntext", "x.md") == "The plan"
    assert title_of("no heading", "Budget 2026.v2.xlsx") == "Budget 2026.v2"
    assert title_of("", "README") == "README"
