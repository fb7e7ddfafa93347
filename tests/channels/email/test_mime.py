from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email import files
from channels.email.mime import MAX_PARTS, MAX_TEXT, ParsedMail, parse
from tests.channels.email.support import mail

PLAIN, HTML = "Content-Type: text/plain; charset=utf-8\r\n\r\n", "Content-Type: text/html; charset=utf-8\r\n\r\n"


def multi(kind: str, *parts: str) -> ParsedMail:
    body = "".join(f"--B\r\n{part}\r\n" for part in parts) + "--B--\r\n"
    return parse(mail(body, content_type=f'multipart/{kind}; boundary="B"', mime_version="1.0"))


@pytest.mark.case(88)
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain; name*",
        "text/plain; name*=",
        "text/plain; *=x; charset*0*=u",
        "text/plain;;;=;",
        "text",
        "/",
        ";",
        "multipart/mixed",
        "multipart/mixed; boundary=",
        "text/plain; charset",
        "text/plain; name*0*=utf-8'",
        "text/plain; charset*=x''y",
    ],
)
def test_case_88_bad_parameter_costs_nothing_else(content_type: str) -> None:
    parsed = parse(mail("The text.", content_type=content_type))
    assert "The text." in parsed.body.text
    assert parsed.first("subject") == "Plans"


@pytest.mark.case(88)
def test_case_88_what_the_parser_cannot_take_is_read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr("email.parser.BytesParser.parsebytes", broken)
    parsed = parse(mail("The text."))
    assert parsed.body.text == "The text."
    assert parsed.notes


@pytest.mark.case(89)
@pytest.mark.parametrize(
    ("name", "value"),
    [("to", "(c):"), ("to", '"'), ("message_id", "<[a@example.com]>"), ("date", "x"), ("from", "<<>>"), ("cc", ",;:")],
)
def test_case_89_broken_header_costs_only_itself(name: str, value: str) -> None:
    parsed = parse(mail("The text.", **{name: value}))
    assert parsed.body.text == "The text."
    assert parsed.first("subject") == "Plans"
    assert parsed.first(name.replace("_", "-")) == value


@pytest.mark.case(90)
def test_case_90_unknown_charset_of_a_body() -> None:
    parsed = parse(mail("grüße".encode("cp1252"), content_type="text/plain; charset=x-made-up"))
    assert parsed.body.text == "grüße"


@pytest.mark.case(91)
def test_case_91_gb2312_body() -> None:
    parsed = parse(mail("朱镕基".encode("gb18030"), content_type="text/plain; charset=gb2312"))
    assert parsed.body.text == "朱镕基"


@pytest.mark.case(93)
def test_case_93_folded_subject() -> None:
    assert parse(mail("x", subject="one\r\n two\r\n\tthree")).first("subject") == "one two three"


@pytest.mark.case(96)
def test_case_96_html_only() -> None:
    html = (
        "<html><head><title>no</title><style>.h{display:none}</style></head><body><p>Visible <b>text</b></p>"
        '<div style="display:none">secret one</div><div class="h">secret two</div><script>secret()</script>'
        '<span style="font-size:0px">secret three</span><p hidden>secret four</p>'
        '<a href="https://a.example/x?y=1">the plan</a> <a href="javascript:alert(1)">bad</a></body></html>'
    )
    text = parse(mail(html, content_type="text/html; charset=utf-8")).body.text
    assert "Visible text" in text
    assert "[the plan](https://a.example/x?y=1)" in text
    assert "bad" in text
    assert "secret" not in text
    assert "javascript" not in text


@pytest.mark.case(96)
@pytest.mark.parametrize("blank", ["", "\r\n", " \r\n\t\r\n"])
def test_case_96_empty_text_part_gives_way_to_html(blank: str) -> None:
    assert multi("alternative", PLAIN + blank, HTML + "<p>Hello from HTML</p>").body.text == "Hello from HTML"


@pytest.mark.case(96)
def test_case_96_text_part_with_words_is_taken() -> None:
    assert (
        multi("alternative", PLAIN + "Hello from text", HTML + "<p>Hello from HTML</p>").body.text == "Hello from text"
    )


def test_texts_around_a_picture_are_all_read() -> None:
    picture = "Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo="
    parsed = multi("mixed", PLAIN + "before", picture, HTML + "<p>after</p>")
    assert parsed.body.text == "before\n\nafter"
    assert [f.media_type for f in parsed.files] == ["image/png"]


INVITE = (
    "BEGIN:VCALENDAR\r\nMETHOD:{method}\r\nBEGIN:VTIMEZONE\r\nDTSTART:19700101T000000\r\nEND:VTIMEZONE\r\n"
    "BEGIN:VEVENT\r\nSUMMARY:Budget\\, 2nd\r\n  round\r\nDTSTART;TZID=Europe/Berlin:20260201T100000\r\n"
    "DTEND:20260201T100000Z\r\n"
    'ORGANIZER;CN="Lee: Ann":mailto:Ann@corp.example\r\nATTENDEE;PARTSTAT=DECLINED;CN=Bob:mailto:bob@corp.example\r\n'
    "LOCATION:Room 1\r\nBEGIN:VALARM\r\nDESCRIPTION:x\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.mark.case(97)
def test_case_97_invitation_is_summarised() -> None:
    raw = mail(INVITE.format(method="REQUEST"), content_type="text/calendar; method=REQUEST; charset=utf-8")
    parsed = parse(raw)
    assert parsed.invite is not None
    assert parsed.invite.method == "REQUEST"
    assert parsed.invite.organizer == "ann@corp.example"
    assert parsed.body.text == (
        "Calendar invitation: Budget, 2nd round\nWhen: 2026-02-01 10:00 (Europe/Berlin) to 2026-02-01 10:00 (UTC)\n"
        "Where: Room 1\nOrganiser: Lee: Ann <ann@corp.example>"
    )
    assert [f.name for f in parsed.files] == ["invite.ics"]


@pytest.mark.case(97)
def test_case_97_answer_to_an_invitation_says_who_said_what() -> None:
    parsed = parse(mail(INVITE.format(method="REPLY"), content_type="text/calendar"))
    assert parsed.invite is not None
    assert parsed.invite.method == "REPLY"
    assert "Bob <bob@corp.example>: declined" in parsed.body.text


@pytest.mark.case(97)
def test_case_97_words_beside_the_invitation_are_kept() -> None:
    calendar = "Content-Type: text/calendar; method=REQUEST\r\n\r\n" + INVITE.format(method="REQUEST")
    text = multi("alternative", PLAIN + "Please prepare the numbers.", calendar).body.text
    assert text.startswith("Please prepare the numbers.\n\nCalendar invitation:")


@pytest.mark.case(97)
@pytest.mark.parametrize(
    "text", ["", "BEGIN:VCALENDAR", "BEGIN:VEVENT\r\nEND:VEVENT", "::::", "BEGIN:VEVENT\r\nDTSTART:99999999T999999Z"]
)
def test_case_97_broken_calendar_is_no_crash(text: str) -> None:
    parse(mail(text, content_type="text/calendar"))


@pytest.mark.case(106)
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("../../x", "x"),
        ("..\\..\\x", "x"),
        ("a\0.txt", "a.txt"),
        (".", "file"),
        ("", "file"),
        ("..", "file"),
        ("/etc/passwd", "passwd"),
        ("C:\\boot.ini", "boot.ini"),
        ("a\r\nb.txt", "ab.txt"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("a/", "a"),
        ("x:y.txt", "x_y.txt"),
        ("．．／x", "x"),
        ("a\u2215b", "b"),
    ],
)
def test_case_106_shown_name_is_one_harmless_component(raw: str, shown: str) -> None:
    assert files.clean(raw) == shown


@pytest.mark.case(106)
def test_case_106_long_names_keep_their_extension_and_equal_names_stay_apart() -> None:
    long = files.clean("n" * 300 + ".pdf")
    assert len(long) == files.MAX_NAME
    assert long.endswith(".pdf")
    assert files.distinct(["a.txt", "A.TXT", "a.txt"]) == ("a.txt", "A (2).TXT", "a (3).txt")


@pytest.mark.case(106)
def test_case_106_names_within_a_mail() -> None:
    part = 'Content-Type: text/plain\r\nContent-Disposition: attachment; filename="{}"\r\n\r\n{}'
    parsed = multi("mixed", PLAIN + "see files", part.format("../../x.txt", "one"), part.format("x.txt", "two"))
    assert [(f.name, f.data.strip()) for f in parsed.files] == [("x.txt", b"one"), ("x (2).txt", b"two")]


def test_encoded_and_rfc2231_names_are_read() -> None:
    encoded = 'Content-Type: application/pdf; name="=?utf-8?B?w6QucGRm?="\r\n\r\nx'
    extended = (
        "Content-Type: application/pdf\r\n"
        "Content-Disposition: attachment; filename*0*=utf-8''%C3; filename*1*=%A4.pdf\r\n\r\nx"
    )
    assert [f.name for f in multi("mixed", encoded, extended).files] == ["ä.pdf", "ä (2).pdf"]


def test_attached_mail_is_a_file() -> None:
    inner = "Content-Type: message/rfc822\r\n\r\nSubject: inner one\r\n\r\nbody of the inner mail"
    parsed = multi("mixed", PLAIN + "see attached", inner)
    assert [f.name for f in parsed.files] == ["inner one.eml"]
    assert b"body of the inner mail" in parsed.files[0].data
    assert "inner mail" not in parsed.body.text


@pytest.mark.case(111)
def test_case_111_eight_bit_body_stays_whole() -> None:
    data = bytes(range(128, 256))
    parsed = parse(mail(data, content_type="text/plain; charset=x-unknown", content_transfer_encoding="8bit"))
    assert parsed.body.text == data.decode("cp1252", "replace")


def test_flowed_text_is_joined() -> None:
    body = "This is \r\none line.\r\n> quoted \r\n> text\r\n-- \r\nAnn"
    parsed = parse(mail(body, content_type="text/plain; format=flowed"))
    assert parsed.body.text == "This is one line.\n> quoted text\n-- \nAnn"


def test_bad_base64_is_read_as_far_as_possible() -> None:
    parsed = parse(mail("aGVsbG8*gd29ybGQ\r\n=", content_transfer_encoding="base64", content_type="text/plain"))
    assert parsed.body.text


def test_parts_and_depth_are_bounded() -> None:
    many = "".join(f"--B\r\nContent-Type: image/png\r\n\r\n{n}\r\n" for n in range(MAX_PARTS * 2)) + "--B--"
    parsed = parse(mail(many, content_type="multipart/mixed; boundary=B"))
    assert len(parsed.files) < MAX_PARTS
    assert parsed.notes


@pytest.mark.parametrize("depth", [50, 3_000])
def test_deep_nesting_is_no_crash(depth: int) -> None:
    body = "".join(f"--b{n}\r\nContent-Type: multipart/mixed; boundary=b{n + 1}\r\n\r\n" for n in range(depth))
    parsed = parse(mail(body, content_type="multipart/mixed; boundary=b0"))
    assert parsed.first("subject") == "Plans"
    assert parsed.notes


def test_a_mail_of_boundaries_is_not_taken_apart() -> None:
    parsed = parse(mail("--B\r\n\r\n" * 20_000, content_type="multipart/mixed; boundary=B"))
    assert parsed.first("subject") == "Plans"
    assert parsed.notes


def test_text_is_bounded_and_says_so() -> None:
    parsed = parse(mail("word " * MAX_TEXT))
    assert len(parsed.body.text) < MAX_TEXT + 100
    assert parsed.body.text.endswith("[cut here: the mail is longer]")


@pytest.mark.parametrize(
    "html",
    [
        "<table>" + "<tr><td>" + "x" * 50_000 + "</td>" + "<td>y</td></tr>" * 3_000 + "</table>",
        "<table><tr><td>" * 200 + "deep",
        "<div>" * 5_000 + "deep",
        '<td colspan="100000000">x</td>',
        '<p style="margin-left: 100000000em; padding: 9999999px">x</p>',
        "<ol start='99999999999999999999'><li>x</ol>",
        "&#xD800;&#0;&#1114112;<p>x",
        "<!--",
        "<![CDATA[x",
        "<?xml version='1.0'?>",
        "\0<p>x",
        "<a href='http://[bad'>x</a>",
    ],
)
def test_hostile_html_stays_small_and_quick(html: str) -> None:
    started = time.process_time()
    parsed = parse(mail(html, content_type="text/html"))
    assert time.process_time() - started < 5
    assert len(parsed.body.text) < len(html) + 2_000
    parsed.body.text.encode("utf-8")


@given(st.binary(max_size=2_000))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_parsed(raw: bytes) -> None:
    check(parse(raw))


HEADERS = st.sampled_from(
    [
        b"From",
        b"To",
        b"Subject",
        b"Content-Type",
        b"Content-Disposition",
        b"Content-Transfer-Encoding",
        b"Message-ID",
        b"Date",
    ]
)
PIECES = st.sampled_from(
    [
        b"multipart/mixed; boundary=B",
        b'multipart/alternative; boundary="B"',
        b"text/html",
        b"text/plain; charset=",
        b"gb2312",
        b"text/calendar; method=REQUEST",
        b"message/rfc822",
        b"message/delivery-status",
        b"multipart/report; report-type=delivery-status; boundary=B",
        b"base64",
        b"quoted-printable",
        b"x-uuencode",
        b"attachment; filename*0*=",
        b"utf-8''%",
        b"=?utf-8?b?",
        b"?=",
        b"<",
        b">",
        b"@",
        b'"',
        b"(",
        b"\xff",
        b"; name*",
        b"\r\n ",
        b"\n\n",
        b"\r",
        b"--B\r\n",
        b"--B--\r\n",
        b"\r\n\r\n",
        b"<div style='",
        b"BEGIN:VEVENT\r\n",
        b"\0",
        b"begin 644 x\n",
    ]
)


@given(
    st.lists(st.tuples(HEADERS, st.lists(PIECES, max_size=5)), max_size=6),
    st.lists(PIECES | st.binary(max_size=20), max_size=30),
)
@settings(max_examples=500, deadline=None)
def test_any_mail_like_bytes_are_parsed(headers: list[tuple[bytes, list[bytes]]], body: list[bytes]) -> None:
    head = b"".join(name + b": " + b"".join(pieces) + b"\r\n" for name, pieces in headers)
    check(parse(head + b"\r\n" + b"".join(body)))


def check(parsed: ParsedMail) -> None:
    parsed.body.text.encode("utf-8")
    assert "\0" not in parsed.body.text
    assert all(0 <= start <= end <= len(parsed.body.text) for start, end in parsed.body.quoted)
    for name, _ in parsed.headers:
        text = parsed.first(name)
        assert text is not None
        text.encode("utf-8")
    for file in parsed.files:
        assert file.name
        assert files.clean(file.name) == file.name or "(" in file.name
