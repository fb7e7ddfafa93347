"""Strict HTML as the Bot API parses it."""

from __future__ import annotations

import pytest

from tests.fakes.telegram_text import Unparsable, check_entities, found_entities, parse_html, trimmed, units


@pytest.mark.parametrize(
    ("markup", "error"),
    [
        ("<b>a", 'Can\'t find end tag corresponding to start tag "b"'),
        ("a</b>", "Unexpected end tag at byte offset 1"),
        ("ü<b>a</i>", 'Unmatched end tag at byte offset 6, expected "</b>", found "</i>"'),
        ("<b><i>a</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("<h1>a</h1>", 'Unsupported start tag "h1" at byte offset 0'),
        ("😀<p>a</p>", 'Unsupported start tag "p" at byte offset 4'),
        ("<br/>", 'Unsupported start tag "br/" at byte offset 0'),
        ("if a <b", "Unclosed start tag at byte offset 5"),
        ("<a href=>x</a>", ""),
        ("<a href>x</a>", 'Expected equal sign in declaration of an attribute of the tag "a" at byte offset 0'),
        ("<a href=x/y>x</a>", "Unexpected end of name token at byte offset 8"),
        ('<a href="x>y</a>', "Unclosed start tag at byte offset 0"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ("<tg-emoji emoji-id='x'>a</tg-emoji>", "Invalid custom emoji identifier specified"),
    ],
)
def test_what_is_refused(markup: str, error: str) -> None:
    if not error:
        parse_html(markup)
        return
    with pytest.raises(Unparsable) as caught:
        parse_html(markup)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("markup", "text", "entities"),
    [
        ("plain", "plain", []),
        ("&lt;b&gt; &amp;amp; &quot; &nbsp; &#128512; &#x41;", '<b> &amp; " &nbsp; 😀 A', []),
        ("AT&T & co", "AT&T & co", []),
        ("<B>x</B>", "x", [("bold", 0, 1)]),
        ("😀<b>é😀</b>", "😀é😀", [("bold", 2, 3)]),
        ("<b></b>x", "x", []),
        ("<b>a<i>b</i></b>", "ab", [("bold", 0, 2), ("italic", 1, 1)]),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", 0, 1)]),
        ("<pre>x</pre>", "x", [("pre", 0, 1)]),
        ("<tg-spoiler>x</tg-spoiler>", "x", [("spoiler", 0, 1)]),
        ("<b>x</>", "x", [("bold", 0, 1)]),
    ],
)
def test_what_is_understood(markup: str, text: str, entities: list[tuple[str, int, int]]) -> None:
    got, found = parse_html(markup)
    assert got == text
    assert [(one["type"], one["offset"], one["length"]) for one in found] == entities


def test_a_code_block_keeps_its_language_and_inline_code_does_not() -> None:
    assert parse_html('<pre><code class="language-python">x</code></pre>')[1] == [
        {"type": "pre", "offset": 0, "length": 1, "language": "python"}
    ]
    assert parse_html('<code class="language-python">x</code>')[1] == [{"type": "code", "offset": 0, "length": 1}]


def test_a_link_without_address_points_at_its_text() -> None:
    assert parse_html("<a>https://example.com</a>")[1][0]["url"] == "https://example.com"


def test_units_and_found_entities_count_in_utf16() -> None:
    assert units("a😀") == 3
    found = found_entities("👋 @mybot help http://x.y a@b.example")
    assert [(one["type"], one["offset"], one["length"]) for one in found] == [("mention", 3, 6), ("url", 15, 10)]


def test_trimming_moves_entities() -> None:
    text, entities = trimmed("\n a b ", [{"type": "bold", "offset": 2, "length": 4}])
    assert (text, entities) == ("a b", [{"type": "bold", "offset": 0, "length": 3}])


@pytest.mark.parametrize(("offset", "length"), [(5, 1), (0, 9), (1, 1)])
def test_entities_outside_the_text_are_refused(offset: int, length: int) -> None:
    with pytest.raises(Unparsable):
        check_entities("😀ab", [{"type": "bold", "offset": offset, "length": length}])
