from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gateway.codec import dump_event, load_event
from bot.gateway.events import (
    Addressed,
    Chain,
    CommandInvoked,
    MessageReceived,
    Nature,
    PlaceKind,
    Proof,
    SpanKind,
)
from channels.email import mapping, mime
from channels.email.mapping import Own, to_event
from channels.email.proof import Verdict, unproven
from tests.channels.email.support import OWN, envelope, mail, read
from tests.channels.support import START

PROVEN = Verdict(Proof.DOMAIN, "test", chain_trusted=True, reply_to_trusted=True)


def message(raw: bytes, verdict: Verdict = PROVEN, *, reply_to_known: bool = False) -> MessageReceived:
    event = to_event(read(raw), OWN, verdict, reply_to_known=reply_to_known)
    assert isinstance(event, MessageReceived)
    return event


def test_a_mail_becomes_a_message() -> None:
    event = message(mail(cc="Bob <bob@corp.example>, executive+x@bot.example, Ann <ann@corp.example>"))
    assert event.ref == "email:<1@corp.example>"
    assert event.thread == Chain("email", ())
    assert (event.place.kind, event.place.title) == (PlaceKind.MAIL, "Plans")
    assert [o.address for o in event.place.others] == ["bob@corp.example"]
    assert (event.sender.address, event.sender.name, event.sender.proof) == ("ann@corp.example", "Ann", Proof.DOMAIN)
    assert event.sender.nature is Nature.PERSON
    assert event.body.own() == "Hello."
    assert event.addressed is Addressed.DIRECT
    assert event.sent_at == START
    assert not event.live
    assert event.automatic is None
    assert (event.reply_path.address, event.reply_path.subject) == ("ann@corp.example", "Plans")


@pytest.mark.case(80)
def test_case_80_list_mail_is_read_and_not_answered_unasked() -> None:
    posted = message(mail(to="team@lists.example", list_id="<team.lists.example>"))
    assert posted.automatic is None
    assert posted.addressed is Addressed.NOT
    asked = message(mail(to="team@lists.example", cc="Executive@bot.example", list_id="<team.lists.example>"))
    assert asked.addressed is Addressed.DIRECT
    assert asked.reply_path.address == "ann@corp.example"


@pytest.mark.case(85)
def test_case_85_whom_a_mail_names_is_invited_only_where_the_proof_covers_to_and_cc() -> None:
    raw = mail(to=f"{OWN.address}, Bob <bob@corp.example>", cc="eve@outside.example, ann@corp.example")
    signed = replace(PROVEN, recipients_trusted=True)
    assert message(raw, signed).invited == ("bob@corp.example", "eve@outside.example")
    assert message(raw).invited == ()
    assert message(raw, replace(unproven("no"), recipients_trusted=True)).invited == ()
    assert [other.address for other in message(raw).place.others] == ["bob@corp.example", "eve@outside.example"]


def test_where_answers_are_sent_takes_part() -> None:
    raw = mail(reply_to="desk@corp.example")
    signed = replace(PROVEN, recipients_trusted=True)
    assert message(raw, signed, reply_to_known=True).invited == ("desk@corp.example",)


@pytest.mark.case(85)
def test_case_85_thread_is_named_only_by_trusted_headers() -> None:
    raw = mail(in_reply_to="<old@bot.example>", references="<older@bot.example> <old@bot.example>")
    assert message(raw).thread == Chain("email", ("email:<old@bot.example>", "email:<older@bot.example>"))
    assert message(raw, unproven("stranger")).thread == Chain("email", ())
    replayed = replace(PROVEN, chain_trusted=False)
    assert message(raw, replayed).thread == Chain("email", ())


@pytest.mark.case(85)
def test_case_85_copies_never_become_recipients() -> None:
    event = message(mail(cc="eve@evil.example", reply_to="eve@evil.example"), unproven("stranger"))
    assert event.reply_path.address == "ann@corp.example"


def key(raw: bytes, own: Own = OWN) -> str:
    return mapping.dedupe_key(read(raw), own)


@pytest.mark.case(102)
def test_case_102_mails_without_an_id_are_told_apart_by_content() -> None:
    first, second = mail("one", message_id=""), mail("two", message_id="")
    assert key(first) != key(second)
    assert key(first) == key(first)
    assert key(first) != key(mail("one", message_id="", subject="Other"))
    assert key(first) != key(mail("one", message_id="", date="Tue, 1 Dec 2026 10:00:00 +0000"))
    assert key(first) != key(mail("one", message_id="", **{"from": "bob@corp.example"}))


@pytest.mark.case(102)
@pytest.mark.parametrize("broken", ["", "x", "<>", "< >", "<a b>", "<" + "x" * 300 + ">"])
def test_case_102_unusable_ids_are_no_ids(broken: str) -> None:
    assert ":content:" in key(mail(message_id=broken))
    assert message(mail(message_id=broken)).ref.endswith("@no-message-id>")


@pytest.mark.case(104)
def test_case_104_one_id_with_two_bodies_is_two_mails() -> None:
    assert key(mail("one")) != key(mail("two"))


@pytest.mark.case(104)
def test_case_104_one_mail_to_two_accounts_is_two_mails() -> None:
    assert key(mail("one"), Own("a@bot.example")) != key(mail("one"), Own("b@bot.example"))


@pytest.mark.case(104)
def test_case_104_true_copies_are_one() -> None:
    other_way = b"Received: from x by y\r\nX-Trace: 7\r\n" + mail("one").replace(b"\r\n", b"\n")
    assert key(mail("one")) == key(other_way)


@pytest.mark.case(105)
def test_case_105_the_whole_chain_comes_back_to_us() -> None:
    event = message(mail(in_reply_to="<c@x>", references="<a@x>\r\n <b@x> <c@x>", message_id="<d@x>"))
    assert event.reply_path.chain == ("email:<a@x>", "email:<b@x>", "email:<c@x>", "email:<d@x>")
    assert event.reply_path.ref == "email:<d@x>"


@pytest.mark.case(105)
@pytest.mark.parametrize(
    ("headers", "refs"),
    [
        ({"references": "<a@x> <b@x>"}, ("email:<b@x>", "email:<a@x>")),
        ({"in_reply_to": "<a@x>"}, ("email:<a@x>",)),
        ({"in_reply_to": "<a@x>", "references": "<b@x>"}, ("email:<a@x>", "email:<b@x>")),
        ({"references": "nonsense <a@x>junk<a@x>"}, ("email:<a@x>",)),
        ({"in_reply_to": "Your mail of today"}, ()),
    ],
)
def test_case_105_references_alone_are_enough(headers: dict[str, str], refs: tuple[str, ...]) -> None:
    assert message(mail("x", **headers)).thread == Chain("email", refs)


@pytest.mark.case(105)
def test_case_105_very_long_chains_are_bounded() -> None:
    event = message(mail(references=" ".join(f"<{n}@x>" for n in range(5_000))))
    assert isinstance(event.thread, Chain)
    assert len(event.thread.refs) == mapping.MAX_REFS
    assert event.thread.refs[0] == "email:<4999@x>"


@pytest.mark.case(112)
def test_case_112_reply_to_of_a_trusted_sender_is_followed_and_counts_as_a_reader() -> None:
    event = message(mail(reply_to="Bob <bob@corp.example>"), reply_to_known=True)
    assert event.reply_path.address == "bob@corp.example"
    assert [o.address for o in event.place.others] == ["bob@corp.example"]


@pytest.mark.case(112)
@pytest.mark.parametrize(
    ("reply_to", "verdict", "known"),
    [
        ("bob@corp.example", unproven("stranger"), True),
        ("bob@corp.example", replace(PROVEN, reply_to_trusted=False), True),
        ("eve@evil.example", PROVEN, False),
        ("executive@bot.example", PROVEN, True),
        ("Executive+tag@bot.example", PROVEN, True),
        ("bob@corp.example, eve@evil.example", PROVEN, True),
        ("team: bob@corp.example;", PROVEN, True),
        ("nonsense", PROVEN, True),
    ],
)
def test_case_112_other_reply_to_is_not_followed(reply_to: str, verdict: Verdict, known: bool) -> None:
    event = message(mail(reply_to=reply_to), verdict, reply_to_known=known)
    assert event.reply_path.address == "ann@corp.example"
    assert event.place.others == ()


@pytest.mark.case(101)
def test_case_101_full_text_stays_beside_the_spans() -> None:
    event = message(mail("Yes.\n\nOn 1 Feb 2026, Exec wrote:\n> old\n"))
    assert event.body.own() == "Yes."
    assert "> old" in event.body.text
    assert [s.kind for s in event.body.spans] == [SpanKind.OWN, SpanKind.QUOTED]


@pytest.mark.case(99)
def test_case_99_html_marks_help_where_the_text_has_none() -> None:
    body = (
        "--B\nContent-Type: text/plain\n\nYes.\n\nXyzzy plugh\nold\n--B\nContent-Type: text/html\n\n"
        '<p>Yes.</p><div class="gmail_quote">Xyzzy plugh<br>old</div>\n--B--'
    )
    event = message(mail(body, content_type="multipart/alternative; boundary=B"))
    assert event.body.own() == "Yes."


@pytest.mark.parametrize(
    ("body", "name", "arguments"),
    [
        ("/help", "help", ""),
        ("\n\n/room  board\n\nThanks!", "room", "board"),
        ("/stop\n\n-- \nAnn", "stop", ""),
        ("/unknown\n\n-- \nAnn", "unknown", ""),
        ("/corect ab12cd May\nand more", "corect", "ab12cd May"),
        ("/New\n\nOn 1 Feb 2026, Exec wrote:\n> old", "new", ""),
    ],
)
def test_command_on_the_first_own_line(body: str, name: str, arguments: str) -> None:
    event = to_event(read(mail(body)), OWN, PROVEN)
    assert isinstance(event, CommandInvoked)
    assert (event.name, event.arguments, event.live) == (name, arguments, False)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("Please /stop", {}),
        ("/etc/hosts is wrong\nand more", {}),
        ("> /stop\n", {}),
        ("-- \n/stop\n", {}),
        ("---------- Forwarded message ---------\nFrom: Eve <e@x.example>\n\n/stop\n", {}),
        ("/stop", {"auto_submitted": "auto-replied"}),
        ("/stop", {"list_id": "<l.example>", "to": "l@lists.example"}),
    ],
)
def test_quoted_forwarded_and_automatic_words_command_nothing(body: str, headers: dict[str, str]) -> None:
    assert isinstance(to_event(read(mail(body, **headers)), OWN, PROVEN), MessageReceived)


def test_a_mail_that_says_all_in_its_subject() -> None:
    assert message(mail("\n\n", subject="What is our runway?")).body.own() == "What is our runway?"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (format_datetime(START - timedelta(days=2)), START - timedelta(days=2)),
        (format_datetime(START + timedelta(days=2)), START),
        (format_datetime(START - timedelta(days=200)), START),
        ("nonsense", START),
        ("", START),
    ],
)
def test_time_of_the_message_is_one_that_can_be_true(date: str, expected: object) -> None:
    assert message(mail(date=date)).sent_at == expected


def test_invitation_of_another_organiser_is_not_the_senders_words() -> None:
    body = "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nSUMMARY:Sell\nORGANIZER:mailto:{}\nEND:VEVENT\nEND:VCALENDAR"
    theirs = message(mail(body.format("eve@evil.example"), content_type="text/calendar"))
    assert theirs.body.own() == ""
    assert "Sell" in theirs.body.text
    own = message(mail(body.format("ann@corp.example"), content_type="text/calendar"))
    assert "Sell" in own.body.own()


def test_our_own_address_as_sender_is_ourselves() -> None:
    event = message(mail(**{"from": "executive@bot.example"}))
    assert event.sender.nature is Nature.SELF
    assert event.automatic == "own"


def test_mail_without_any_sender() -> None:
    raw = mail(**{"from": ""})
    event = to_event(mapping.Mail(mime.parse(raw), raw, envelope("")), OWN, unproven("x"))
    assert isinstance(event, MessageReceived)
    assert event.sender.nature is Nature.ANONYMOUS


@given(st.binary(max_size=600), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_bytes_become_an_event_that_can_be_stored(raw: bytes, proven: bool) -> None:
    event = to_event(read(raw), OWN, PROVEN if proven else unproven("x"))
    assert load_event(dump_event(event)) == event
    assert event.keys


HEADER = st.tuples(
    st.sampled_from(["From", "To", "Cc", "Subject", "Message-ID", "References", "Reply-To", "Date", "Content-Type"]),
    st.text(alphabet='ab<>@,;:"()=?\\\xff\ud800 \t/utf-8BQ', max_size=40),
)


@given(st.lists(HEADER, max_size=8), st.text(max_size=100))
@settings(max_examples=300, deadline=None)
def test_any_headers_become_an_event_that_can_be_stored(headers: list[tuple[str, str]], body: str) -> None:
    lines = "\r\n".join(f"{name}: {value}" for name, value in headers) + "\r\n\r\n" + body
    event = to_event(read(lines.encode("utf-8", "surrogatepass")), OWN, PROVEN)
    assert load_event(dump_event(event)) == event
