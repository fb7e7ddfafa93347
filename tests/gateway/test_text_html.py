"""Markdown as HTML of a page: what was written stays readable, and nothing of it is ever a tag."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from bot.gateway.text import parse
from bot.gateway.text_html import html

TAGS = {
    "p", "h3", "h4", "h5", "h6", "pre", "code", "blockquote", "ul", "ol", "li", "div", "table", "thead", "tbody", "tr",
    "th", "td", "hr", "br", "em", "strong", "del", "a",
}  # fmt: skip
TABLE = '<div class="table"><table><thead><tr>'
BODY = '<tbody><tr><td>1</td><td class="number">2</td></tr></tbody></table></div>'
OUT = 'rel="noopener noreferrer nofollow" target="_blank"'


def shown(markdown: str) -> str:
    return html(parse(markdown))


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("**Fourteen** months.", "<p><strong>Fourteen</strong> months.</p>"),
        ("# Money\n\nfine", "<h3>Money</h3><p>fine</p>"),
        ("- a\n- *b*", "<ul><li>a</li><li><em>b</em></li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> so\n\n---", "<blockquote><p>so</p></blockquote><hr>"),
        ("```py\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        (
            "| a | b |\n|---|--:|\n| 1 | 2 |",
            f'{TABLE}<th scope="col">a</th><th scope="col" class="number">b</th></tr></thead>{BODY}',
        ),
        (
            "[plan](https://example.org/?a=1&b=2)",
            f'<p><a href="https://example.org/?a=1&amp;b=2" {OUT}>plan</a></p>',
        ),
    ],
)
def test_marks(markdown: str, wanted: str) -> None:
    assert shown(markdown) == wanted


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "[x](<JaVaScRiPt:alert(1)>)",
        "![x](javascript:alert(1))",
        '[x](https://example.org/"onclick="alert(1))',
        '`"><script>alert(1)</script>`',
        "```<script>\n</code></pre><script>alert(1)</script>\n```",
        "| <b onmouseover=alert(1)> |\n|---|\n| <svg/onload=alert(1)> |",
        "&lt;script&gt;",
    ],
)
def test_nothing_that_is_written_becomes_a_tag(hostile: str) -> None:
    check(hostile)


@given(st.text(alphabet="<>&\"'`*_[]()!|#-\n :/javscriptonle=", max_size=200))
def test_nothing_at_all_becomes_a_tag(text: str) -> None:
    check(text)


def check(markdown: str) -> None:
    tree = lxml_html.fromstring(f"<div>{shown(markdown)}</div>")
    for element in tree.iterdescendants():
        assert element.tag in TAGS
        assert set(element.attrib) <= {"class", "start", "scope", "href", "rel", "target"}
        href = element.get("href")
        assert href is None or href.lower().startswith(("https://", "http://", "mailto:"))
