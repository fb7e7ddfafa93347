from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.events import Body, SpanKind
from channels.email.html import convert
from channels.email.quote import Known, split

KNOWN = Known(("executive@bot.example",), "bot.example")
OUR_ID = "<0123456789abcdefghjkmnpq@bot.example>"


def own(text: str, subject: str | None = None) -> str:
    return Body(text, split(text, KNOWN, subject=subject)).own()


def kinds(text: str, subject: str | None = None) -> list[tuple[SpanKind, str]]:
    return [(s.kind, text[s.start : s.end].strip()) for s in split(text, KNOWN, subject=subject)]


ATTRIBUTIONS = [
    "On Mon, 1 Feb 2026 at 10:00, Exec <executive@bot.example> wrote:",
    "Am 01.02.2026 um 10:00 schrieb Exec:",
    "Am Mo., 1. Feb. 2026 um 10:00 Uhr schrieb Exec <executive@bot.example>:",
    "Le lun. 1 févr. 2026 à 10:00, Exec <executive@bot.example> a écrit :",
    "El lun, 1 feb 2026 a las 10:00, Exec (<executive@bot.example>) escribió:",
    "Il giorno lun 1 feb 2026 alle ore 10:00 Exec <executive@bot.example> ha scritto:",
    "Op ma 1 feb 2026 om 10:00 schreef Exec <executive@bot.example>:",
    "Den man. 1. feb. 2026 kl. 10.00 skrev Exec <executive@bot.example>:",
    "man. 1. feb. 2026 kl. 10:00 skrev Exec <executive@bot.example>:",
    "Den mån 1 feb. 2026 kl 10:00 skrev Exec <executive@bot.example>:",
    "Em seg., 1 de fev. de 2026 às 10:00, Exec <executive@bot.example> escreveu:",
    "pon., 1 lut 2026 o 10:00 Exec <executive@bot.example> napisał(a):",
    "W dniu 01.02.2026 o 10:00, Exec pisze:",
    "Dne po 1. 2. 2026 v 10:00 Exec <executive@bot.example> napsal(a):",
    "пн, 1 февр. 2026 г. в 10:00, Exec <executive@bot.example>:",
    "1 февраля 2026 г. в 10:00 Exec написал(а):",
    "Exec <executive@bot.example> 于2026年2月1日周一 10:00写道：",
    "2026年2月1日(月) 10:00 Exec <executive@bot.example>:",
    "2026年2月1日 10:00、Exec <executive@bot.example>のメール:",
]


@pytest.mark.case(99)
@pytest.mark.parametrize("attribution", ATTRIBUTIONS)
def test_case_99_attribution_and_marked_quote_are_found(attribution: str) -> None:
    assert own(f"My answer.\n\n{attribution}\n> old one\n> old two\n") == "My answer."


BLOCKS = [
    ("From: Exec <executive@bot.example>\nSent: Monday, 1 February 2026 10:00\nTo: Ann\nCc: Bob\nSubject: Plans"),
    "Von: Exec\nGesendet: Montag, 1. Februar 2026 10:00\nAn: Ann\nBetreff: Plans",
    "De : Exec\nEnvoyé : lundi 1 février 2026 10:00\nÀ : Ann\nObjet : Plans",
    "De: Exec\nEnviado el: lunes, 1 de febrero de 2026 10:00\nPara: Ann\nAsunto: Plans",
    "Da: Exec\nInviato: lunedì 1 febbraio 2026 10:00\nA: Ann\nOggetto: Plans",
    "Van: Exec\nVerzonden: maandag 1 februari 2026 10:00\nAan: Ann\nOnderwerp: Plans",
    "Fra: Exec\nSendt: mandag 1. februar 2026 10:00\nTil: Ann\nCc: Bob\nEmne: Plans",
    "Från: Exec\nSkickat: den 1 februari 2026 10:00\nTill: Ann\nÄmne: Plans",
    "De: Exec\nEnviada em: segunda-feira, 1 de fevereiro de 2026 10:00\nPara: Ann\nAssunto: Plans",
    "Od: Exec\nWysłano: poniedziałek, 1 lutego 2026 10:00\nDo: Ann\nTemat: Plans",
    "Od: Exec\nOdesláno: pondělí 1. února 2026 10:00\nKomu: Ann\nPředmět: Plans",
    "От: Exec\nОтправлено: 1 февраля 2026 г. 10:00\nКому: Ann\nТема: Plans",
    "发件人: Exec\n发送时间: 2026年2月1日 10:00\n收件人: Ann\n主题: Plans",
    "差出人: Exec\n送信日時: 2026年2月1日 10:00\n宛先: Ann\n件名: Plans",
    "*From:* Exec\n*Sent:* Monday, 1 February 2026 10:00\n*To:* Ann\n*Subject:* Plans",
    # no language that is known: an address and a moment in a block of labels are enough
    "Frå: Exec <executive@bot.example>\nTidspunkt: 01.02.2026 10:00\nMottakar: Ann",
]


@pytest.mark.case(99)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("rule", ["", "________________________________\n", "-----Original Message-----\n"])
def test_case_99_header_block_begins_the_history(block: str, rule: str) -> None:
    assert own(f"My answer.\n\n{rule}{block}\n\nold text without marks\n") == "My answer."


@pytest.mark.case(99)
@pytest.mark.parametrize(
    "line",
    [
        f"Xyzzy {OUR_ID} plugh:",
        "Ysgrifennodd Exec (executive@bot.example):",
        "2026-02-01 10:00, ann@corp.example:",
    ],
)
def test_case_99_neutral_marks_need_no_language(line: str) -> None:
    assert own(f"My answer.\n\n{line}\n> old\n") == "My answer."


@pytest.mark.case(99)
@pytest.mark.parametrize(
    "html",
    [
        '<div>My answer.</div><div class="gmail_quote"><div>X:</div><blockquote>old</blockquote></div>',
        '<p>My answer.</p><blockquote type="cite"><p>old</p></blockquote>',
        '<p>My answer.</p><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p>X: y</p></div><p>old</p>',
        '<p>My answer.</p><div id="divRplyFwdMsg">X: y</div><div>old</div>',
        '<p>My answer.</p><div id="appendonsend"></div><hr><div>old</div>',
        '<p>My answer.</p><div class="yahoo_quoted">old</div>',
        '<p>My answer.</p><div class="moz-cite-prefix">Xyz:</div><blockquote type="cite">old</blockquote>',
    ],
)
def test_case_99_marks_of_html_need_no_language(html: str) -> None:
    rendered = convert(f"<html><body>{html}</body></html>")
    body = Body(rendered.text, split(rendered.text, KNOWN, rendered.quoted))
    assert body.own() == "My answer."
    assert "old" in body.text


@pytest.mark.case(99)
def test_case_99_words_below_a_gmail_quote_are_own() -> None:
    rendered = convert('<div>Above.</div><div class="gmail_quote">old</div><div>Below.</div>')
    body = Body(rendered.text, split(rendered.text, KNOWN, rendered.quoted))
    assert body.own().split() == ["Above.", "Below."]


@pytest.mark.case(100)
@pytest.mark.parametrize(
    "attribution",
    [
        "On Mon, Feb 1, 2026 at 10:00 AM A Very Long Name <\nexecutive@bot.example> wrote:",
        "On Mon, Feb 1, 2026 at 10:00 AM\nExec <executive@bot.example>\nwrote:",
        "Am Mo., 1. Feb. 2026 um 10:00 Uhr schrieb Exec <\nexecutive@bot.example\n>:",
    ],
)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_case_100_wrapped_attribution_is_joined(attribution: str, gap: str) -> None:
    assert own(f"My answer.\n\n{attribution}{gap}> old\n") == "My answer."


@pytest.mark.case(100)
def test_case_100_own_line_right_above_the_attribution_stays() -> None:
    assert own("My answer.\nOn 1 Feb 2026, Exec wrote:\n> old\n") == "My answer."
    assert own("Fine by me\nOn 1 Feb 2026, Exec wrote:\n> old\n") == "Fine by me"


@pytest.mark.case(100)
def test_case_100_what_follows_the_quote_is_kept() -> None:
    text = "On 1 Feb 2026, Exec wrote:\n> old\n\nMy answer below.\n\n-- \nAnn\nCorp"
    assert own(text) == "My answer below."
    assert kinds(text)[-1] == (SpanKind.SIGNATURE, "-- \nAnn\nCorp")


@pytest.mark.case(100)
def test_case_100_signature_below_the_quote() -> None:
    assert own("My answer.\n\nOn 1 Feb 2026, Exec wrote:\n> old\n\n-- \nAnn") == "My answer."


@pytest.mark.case(100)
def test_case_100_answers_between_the_lines() -> None:
    text = "> First question?\n\nYes.\n\n> Second question?\n\nNo.\n"
    assert own(text).split() == ["Yes.", "No."]


@pytest.mark.case(101)
def test_case_101_block_without_marks_ends_the_own_words() -> None:
    text = "My answer.\n\nFrom: Exec\nSent: 1 Feb 2026 10:00\nSubject: Plans\n\nold\n"
    assert own(text) == "My answer."


@pytest.mark.case(101)
def test_case_101_reply_below_a_block_keeps_everything() -> None:
    text = "From: Exec\nSent: 1 Feb 2026 10:00\nSubject: Plans\n\nold\n\nMy answer below."
    assert own(text) == text


@pytest.mark.case(101)
@pytest.mark.parametrize(
    "text",
    [
        "On Monday he wrote:\nthat we should wait. I disagree.",
        "Three things:\n1. a\n2. b",
        "My wishes:\nColour: red\nSize: large\nPrice: low",
        "As Ann wrote:\n\nplease wait.",
        "a > b\nb > c",
        "It said: from 10:00 to 11:00 we meet.",
    ],
)
def test_case_101_words_that_only_mention_a_quote_stay(text: str) -> None:
    assert own(text) == text


@pytest.mark.case(101)
def test_case_101_attribution_without_marks() -> None:
    assert own("My answer.\n\nOn Mon, 1 Feb 2026 at 10:00, Exec <e@x.example> wrote:\n\nold text\nmore") == "My answer."


@pytest.mark.case(101)
def test_case_101_attribution_alone_on_top_keeps_everything() -> None:
    text = "On Mon, 1 Feb 2026 at 10:00, Exec <e@x.example> wrote:\n\nold text\nmore"
    assert own(text) == text


def test_marked_quotes_never_become_own_words() -> None:
    assert own("> /stop\n> we decided to sell\n") == ""


@pytest.mark.parametrize(
    "mark",
    [
        "---------- Forwarded message ---------",
        "Begin forwarded message:",
        "-------- Weitergeleitete Nachricht --------",
    ],
)
def test_forwarded_words_are_not_the_senders(mark: str) -> None:
    text = f"See below.\n\n{mark}\nFrom: Eve <eve@evil.example>\nSubject: sell\n\nwe decided to sell\n"
    assert own(text) == "See below."
    assert kinds(text)[-1][0] is SpanKind.FORWARDED
    assert own(text.removeprefix("See below.\n\n")) == ""


def test_block_in_a_mail_that_says_it_forwards() -> None:
    text = "FYI\n\nFrom: Eve\nSent: 1 Feb 2026 10:00\nSubject: sell\n\nwe decided\n"
    assert kinds(text, "Fwd: sell")[-1][0] is SpanKind.FORWARDED
    assert kinds(text, "WG: sell")[-1][0] is SpanKind.FORWARDED
    assert kinds(text, "Re: sell")[-1][0] is SpanKind.QUOTED


@pytest.mark.parametrize(
    "line",
    [
        "Sent from my iPhone",
        "Von meinem iPhone gesendet",
        "Envoyé de mon iPhone",
        "Get Outlook for iOS<https://x>",
        "发自我的iPhone",
    ],
)
def test_lines_that_telephones_add_are_signature(line: str) -> None:
    assert own(f"My answer.\n\n{line}\n\nOn 1 Feb 2026, Exec wrote:\n> old") == "My answer."


def test_two_dashes_within_a_long_text_are_no_signature() -> None:
    text = "Part one\n--\n" + "line\n" * 40
    assert own(text) == text.strip()


LINES = st.sampled_from(
    [
        "> q",
        "own",
        "",
        "-- ",
        "On 1 Feb 2026 10:00, X wrote:",
        "From: a@b.example",
        "Sent: 1 Feb 2026 10:00",
        "Subject: x",
        "---------- Forwarded message ---------",
        "Sent from my iPhone",
        "x:",
        "--",
    ]
)


@given(st.text(max_size=300) | st.lists(LINES).map("\n".join))
def test_spans_cover_every_text_without_gap(text: str) -> None:
    spans = split(text, KNOWN)
    assert "".join(text[s.start : s.end] for s in spans) == text
    assert all(a.end == b.start and a.end > a.start for a, b in pairwise(spans))


@given(st.text(max_size=200), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=3))
def test_spans_cover_whatever_ranges_are_given(text: str, ranges: list[tuple[int, int]]) -> None:
    spans = split(text, KNOWN, ranges)
    assert "".join(text[s.start : s.end] for s in spans) == text
