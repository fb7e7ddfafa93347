from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage, MIMEPart

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway import text as markdown
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId
from channels.email import compose, mime
from channels.email.render import to_html
from tests.channels.email.support import OWN
from tests.channels.support import START

KEY = OutboxId("0123456789abcdefghjkmnpq")
PATH = ReplyPath("t", "ann@corp.example", "email:<c@x>", "Plans", ("email:<a@x>", "email:<b@x>", "email:<c@x>"))


def written(
    path: ReplyPath = PATH, text: str = "Hello.", files: tuple[compose.File, ...] = (), again: bool = False
) -> bytes:
    return compose.compose(Send(path, "", text), KEY, OWN, files, START, again=again)


def read(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert not message.defects
    return message


def content(message: MIMEPart) -> str:
    return str(message.get_content()).replace("\r\n", "\n")


def subject_path(subject: str | None) -> ReplyPath:
    return ReplyPath("t", "ann@corp.example", "email:<1@corp.example>", subject)


@pytest.mark.case(77)
def test_case_77_a_whole_answer() -> None:
    message = read(written())
    assert message["From"] == "executive@bot.example"
    assert message["To"] == "ann@corp.example"
    assert message["Subject"] == "Re: Plans"
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["X-OpenExecutive-Loop"] == "executive@bot.example"
    assert message["Message-ID"] == f"<{KEY}@bot.example>"
    assert message["Date"] == "Mon, 30 Nov 2026 12:00:00 +0000"
    assert content(message) == "Hello.\n"


@pytest.mark.case(105)
def test_case_105_answer_stands_in_its_thread() -> None:
    message = read(written())
    assert message["In-Reply-To"] == "<c@x>"
    assert message["References"].split() == ["<a@x>", "<b@x>", "<c@x>"]


@pytest.mark.case(105)
def test_case_105_long_chain_keeps_its_ends_and_no_line_is_too_long() -> None:
    chain = tuple(f"email:<{'x' * 150}{n}@example>" for n in range(100))
    raw = written(ReplyPath("t", "ann@corp.example", chain[-1], "s", chain))
    ids = read(raw)["References"].split()
    assert len(ids) == compose.MAX_REFERENCES
    assert (ids[0], ids[-1]) == (chain[0].removeprefix("email:"), chain[-1].removeprefix("email:"))
    assert max(map(len, raw.split(b"\r\n"))) < 998
    assert b"=?" not in raw


@pytest.mark.case(105)
def test_case_105_mail_without_an_id_is_not_referred_to() -> None:
    message = read(
        written(ReplyPath("t", "ann@corp.example", "email:<k@no-message-id>", "s", ("email:<k@no-message-id>",)))
    )
    assert message["References"] is None
    assert message["In-Reply-To"] is None


@pytest.mark.case(93)
@pytest.mark.case(94)
@pytest.mark.parametrize(
    "subject",
    [
        "Hi\nBcc: evil@example.com",
        "Hi\r\nBcc: evil@example.com",
        "Hi\rBcc: x",
        "Hi\0there",
        "Hi\x0b\x0c\x85\u2028x",
        "Hi\r\n folded",
    ],
)
def test_case_93_94_no_subject_breaks_out_of_its_line(subject: str) -> None:
    raw = written(subject_path(subject))
    message = read(raw)
    assert message["Bcc"] is None
    assert message["Subject"].startswith("Re: Hi")
    assert set(message.keys()) == {
        "Date",
        "From",
        "To",
        "Subject",
        "Message-ID",
        "Auto-Submitted",
        "X-OpenExecutive-Loop",
        "Content-Type",
        "Content-Transfer-Encoding",
        "MIME-Version",
    }


@pytest.mark.case(94)
@pytest.mark.parametrize(
    "address",
    ["a@b.example\r\nBcc: x@y.example", "a@b.example, c@d.example", "", "a", "a@b.example>\n", "<a@b.example"],
)
def test_case_94_only_one_plain_address_is_written_to(address: str) -> None:
    with pytest.raises(PermanentError):
        written(ReplyPath("t", address))


@pytest.mark.case(94)
def test_case_94_ids_cannot_break_out() -> None:
    raw = written(
        ReplyPath("t", "a@b.example", "email:<x@y>\r\nBcc: e@x", "s", ("email:<x@y>\r\nBcc: e@x", "email:<ok@y>"))
    )
    assert b"Bcc" not in raw
    assert read(raw)["References"] == "<ok@y>"


@pytest.mark.case(95)
@pytest.mark.parametrize(
    "subject",
    [
        "Réunion à propos de la stratégie budgétaire détaillée pour l'année prochaine et les suivantes déjà évoquées "
        * 2,
        "朱镕基" * 40,
        "a" * 300,
        "plain words " * 20 + "é",
        "=?utf-8?Q?not=20encoded?=",
        "😀" * 60,
    ],
)
def test_case_95_any_subject_is_read_back_whole(subject: str) -> None:
    raw = written(subject_path(subject))
    expected = compose.subject(subject, answers=True)
    assert read(raw)["Subject"] == expected
    assert mime.parse(raw).first("subject") == expected
    head = raw.split(b"\r\n\r\n")[0]
    assert head.isascii()
    assert b"?==?" not in head
    assert all(len(line) <= 78 for line in head.split(b"\r\n") if b"=?" in line)


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        ("Plans", "Re: Plans"),
        ("Re: Plans", "Re: Plans"),
        ("RE: re: Plans", "Re: Plans"),
        ("AW: Plans", "Re: Plans"),
        ("SV: AW: Re[2]: Plans", "Re: Plans"),
        ("回复：计划", "Re: 计划"),
        ("Regarding: Plans", "Re: Regarding: Plans"),
        (None, "Re: (no subject)"),
        ("", "Re: (no subject)"),
        ("Re:", "Re: (no subject)"),
        ("Fwd: Plans", "Re: Fwd: Plans"),
    ],
)
def test_re_stands_there_once(earlier: str | None, expected: str) -> None:
    assert compose.subject(earlier, answers=True) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [("Plans", "Plans"), ("Re: Plans", "Re: Plans"), (None, "(no subject)"), ("a\r\nb", "a b")]
)
def test_a_mail_of_our_own_is_no_answer(given: str | None, expected: str) -> None:
    message = read(written(ReplyPath("t", "ann@corp.example", None, given)))
    assert message["Subject"] == expected
    assert message["Auto-Submitted"] == "auto-generated"


def test_sent_again_is_the_same_mail_and_says_so() -> None:
    first, second = read(written()), read(written(again=True))
    assert first["Message-ID"] == second["Message-ID"]
    assert second[compose.AGAIN_HEADER] == "yes"
    assert first[compose.AGAIN_HEADER] is None
    assert compose.AGAIN_LINE in content(second)


def test_html_stands_beside_the_text_and_fetches_nothing() -> None:
    source = (
        "# Plan\n\n**Now** <script>x</script> ![pic](https://e.example/p.png)\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n"
        "[x](javascript:y)"
    )
    op = Send(PATH, to_html(markdown.parse(source)), "plain text")
    message = read(compose.compose(op, KEY, OWN, [], START, again=False))
    assert message.get_content_type() == "multipart/alternative"
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    assert content(plain) == "plain text\n"
    markup = content(html)
    assert "<strong>Now</strong>" in markup
    assert "<td>1</td>" in markup
    assert "<script" not in markup
    assert "<img" not in markup
    assert 'href="javascript' not in markup


@pytest.mark.case(106)
def test_case_106_attached_names_are_cleaned() -> None:
    files = (compose.File("../../ä.pdf", "application/pdf", b"%PDF"), compose.File("x", "bad type\r\nX: y", b"\0\1"))
    message = read(written(files=files))
    attached = list(message.iter_attachments())
    assert [a.get_filename() for a in attached] == ["ä.pdf", "x"]
    assert [a.get_content_type() for a in attached] == ["application/pdf", "application/octet-stream"]
    assert attached[0].get_payload(decode=True) == b"%PDF"


def test_lines_are_short_and_ended_by_crlf() -> None:
    raw = written(text="x" * 5_000 + "\n.\n..dots\nÄ\n")
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert content(read(raw)) == "x" * 5_000 + "\n.\n..dots\nÄ\n"


def test_domain_beyond_ascii_is_written_as_dns_knows_it() -> None:
    assert read(written(ReplyPath("t", "ann@bücher.example")))["To"] == "ann@xn--bcher-kva.example"


@given(st.text(max_size=200), st.text(max_size=100) | st.none(), st.lists(st.text(max_size=40), max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_text_makes_one_well_formed_mail(text: str, subject: str | None, chain: list[str]) -> None:
    path = ReplyPath(
        "t", "ann@corp.example", chain[-1] if chain else None, subject, tuple(f"email:<{c}>" for c in chain)
    )
    raw = compose.compose(Send(path, text, text), KEY, OWN, [], START, again=False)
    message = read(raw)
    assert message["Message-ID"] == f"<{KEY}@bot.example>"
    assert message["To"] == "ann@corp.example"
    assert message.get_all("Subject") == [compose.subject(subject, answers=bool(chain))]
    assert message["Bcc"] is None
