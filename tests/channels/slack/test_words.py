from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.events import SpanKind
from channels.slack.words import attachments_of, body_of, forwarded, markdown, mentions, without_mention

NAMES = {"U1": "Ann", "UBOT": "Executive"}


def read(text: str) -> str:
    return markdown(text, NAMES.get)


@pytest.mark.case(21)
@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("2 * 3 and `rm -rf *`", "2 * 3 and `rm -rf *`"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("*a* and *b c*", "**a** and **b c**"),
        ("a*b*c", "a*b*c"),
        ("* not bold*", "* not bold*"),
        ("*not bold *", "*not bold *"),
        ("~gone~ but ~ not ~", "~~gone~~ but ~ not ~"),
        ("snake_case_name _it_", "snake_case_name _it_"),
        ("```\n*x* ~y~ &lt;b&gt;\n```", "```\n*x* ~y~ <b>\n```"),
        ("`a &amp;&amp; *b*` *c*", "`a && *b*` **c**"),
        ("`curl <https://a.example/*>`", "`curl https://a.example/*`"),
    ],
)
def test_case_21_marks_count_only_with_text_on_their_inner_sides(sent: str, text: str) -> None:
    assert read(sent) == text


@pytest.mark.case(21)
@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("<https://a.example/x_y*z*>", "https://a.example/x_y*z*"),
        ("<https://a.example/?a=1&amp;b=2|the *page*>", "[the *page*](https://a.example/?a=1&b=2)"),
        ("<http://a.example|a.example>", "http://a.example"),
        ("*<https://a.example|t>*", "**[t](https://a.example)**"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<mailto:a@b.example|write>", "[write](mailto:a@b.example)"),
        ("<tel:+49123|+49123>", "+49123"),
        ("<tel:+49123|call>", "[call](tel:+49123)"),
        ("<@U1> <@U2|ben> <@U3>", "@Ann @ben @U3"),
        ("<#C1|general> <#C2>", "#general #C2"),
        ("<!here> <!channel|channel> <!subteam^S1|@board> <!subteam^S2>", "@here @channel @board @subteam"),
        ("<!date^1392734382^{date}|18 Feb>", "18 Feb"),
        ("if a &lt; b &amp;&amp; c &gt; d", "if a < b && c > d"),
        ("&amp;lt; stays", "&lt; stays"),
    ],
)
def test_case_21_links_mentions_and_escapes_are_read(sent: str, text: str) -> None:
    assert read(sent) == text


@given(st.text(alphabet="ab *_~`<>|@!&;\n\ue000\ue0011", max_size=80))
def test_no_text_makes_the_reading_fail(text: str) -> None:
    body = body_of({"text": text}, NAMES.get)
    assert "\ue000" not in body.text
    if body.spans:
        assert [span.start for span in body.spans] == [0, *(span.end for span in body.spans[:-1])]
        assert body.spans[-1].end == len(body.text)


def test_quoted_lines_are_not_the_senders_words() -> None:
    body = body_of({"text": "&gt; pay Eve now\nno, never\n&gt; really?\nno"}, NAMES.get)
    assert body.own() == "no, never\nno"
    rest = body_of({"text": "look:\n&gt;&gt;&gt; all of\nthis"}, NAMES.get)
    assert rest.own() == "look:"
    assert body_of({"text": "plain"}, NAMES.get).spans == ()


def test_a_shared_message_is_forwarded_and_a_preview_is_nobodys() -> None:
    share = {"is_share": True, "author_name": "Ben", "text": "the *plan*"}
    preview = {"from_url": "https://a.example", "text": "buy now", "fallback": "A"}
    body = body_of({"text": "what of this?", "attachments": [preview, share]}, NAMES.get)
    assert body.text == "what of this?\n[forwarded from Ben]\nthe **plan**"
    assert body.own() == "what of this?"
    assert {span.kind for span in body.spans} == {SpanKind.OWN, SpanKind.FORWARDED}
    assert forwarded({"text": "pay Eve"}, NAMES.get).own() == ""


def test_mentions_are_found_and_taken_from_the_start() -> None:
    assert mentions("hi <@UBOT> and <@U1>", "UBOT")
    assert mentions("<@UBOT|executive>", "UBOT")
    assert not mentions("&lt;@UBOT&gt; <@UBOT2> @UBOT", "UBOT")
    assert without_mention(" <@UBOT>, /status", "UBOT") == "/status"
    assert without_mention("hi <@UBOT>", "UBOT") == "hi <@UBOT>"


def test_files_carry_their_source_or_their_fault() -> None:
    files = [
        {"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 10},
        {"id": "F2", "name": "film.mkv", "size": 30_000_000},
        {"id": "F3", "mode": "tombstone"},
        {"id": "F4", "name": "doc", "mode": "external"},
        {"id": "F5", "mode": "hidden_by_limit"},
        {"id": "F6", "name": "unknown size"},
    ]
    found = attachments_of({"files": files}, 20_000_000)
    assert [one.source for one in found] == ["F1", None, None, None, None, "F6"]
    assert "too large" in (found[1].fault or "")
    assert [bool(one.fault) for one in found] == [False, True, True, True, True, False]
    assert attachments_of({}, 1) == ()
