from __future__ import annotations

import pytest

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.ids import OutboxId
from channels.email import guards, mapping, mime
from channels.email.compose import compose
from tests.channels.email.support import OWN, mail
from tests.channels.support import START


def reason(raw: bytes, mail_from: str = "ann@corp.example") -> str | None:
    parsed = mime.parse(raw)
    return guards.automatic(parsed, mail_from, mapping.sender_of(parsed, mail_from), OWN.address)


@pytest.mark.case(77)
@pytest.mark.parametrize(("answered", "mark"), [("<q@corp.example>", "auto-replied"), (None, "auto-generated")])
def test_case_77_own_mail_carries_the_mark_and_is_known_by_it(answered: str | None, mark: str) -> None:
    op = Send(ReplyPath("", "ann@corp.example", answered), "", "text")
    raw = compose(op, OutboxId("0123456789abcdefghjkmnpq"), OWN, [], START, again=False)
    parsed = mime.parse(raw)
    assert parsed.first("auto-submitted") == mark
    assert reason(raw) == "loop"
    stranger_copy = raw.replace(b"executive@bot.example", b"executive@other.example")
    assert reason(stranger_copy) == "auto_submitted"


@pytest.mark.case(78)
@pytest.mark.parametrize(
    "value", ["auto-replied", "auto-generated", "Auto-Replied; owner-email=x", "(c) auto-notified", "invented"]
)
def test_case_78_auto_submitted_is_never_answered(value: str) -> None:
    assert reason(mail(auto_submitted=value)) == "auto_submitted"


@pytest.mark.case(78)
@pytest.mark.parametrize("value", ["no", "No", "no (a person)", "(x) no"])
def test_case_78_auto_submitted_no_is_a_person(value: str) -> None:
    assert reason(mail(auto_submitted=value)) is None


@pytest.mark.case(78)
@pytest.mark.parametrize("mail_from", ["", "<>", " <> "])
def test_case_78_null_return_path_is_never_answered(mail_from: str) -> None:
    assert reason(mail(), mail_from) == "bounce"
    assert reason(mail(return_path="<>")) == "bounce"


@pytest.mark.case(78)
@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("delivery-status", "bounce"),
        ("disposition-notification", "receipt"),
        ("feedback-report", "report"),
        ("", "report"),
    ],
)
def test_case_78_reports_are_never_answered(kind: str, word: str) -> None:
    assert reason(mail("--B--", content_type=f"multipart/report; report-type={kind}; boundary=B")) == word


@pytest.mark.case(79)
def test_case_79_x_auto_response_suppress_is_human_mail() -> None:
    assert reason(mail(x_auto_response_suppress="All")) is None


@pytest.mark.case(80)
@pytest.mark.parametrize("value", ["list", "bulk", "junk", "first-class"])
def test_case_80_list_mail_is_a_persons(value: str) -> None:
    raw = mail(precedence=value, list_id="<team.corp.example>")
    assert reason(raw) is None
    assert guards.is_list(mime.parse(raw))


@pytest.mark.case(80)
def test_case_80_only_auto_reply_says_machine() -> None:
    assert reason(mail(precedence="auto_reply")) == "auto_reply"


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ({"from": "executive+x@bot.example"}, "own"),
        ({"from": "MAILER-DAEMON@mx.example"}, "bounce"),
        ({"x_autoreply": "yes"}, "auto_reply"),
        ({"x_openexecutive_loop": "Executive@bot.example"}, "loop"),
    ],
)
def test_other_machines(headers: dict[str, str], word: str) -> None:
    assert reason(mail(**headers)) == word


@pytest.mark.case(97)
@pytest.mark.parametrize(
    ("method", "word"), [("REPLY", "calendar_reply"), ("CANCEL", "calendar_cancel"), ("REQUEST", None)]
)
def test_case_97_answers_and_cancellations_are_not_questions(method: str, word: str | None) -> None:
    body = f"BEGIN:VCALENDAR\nMETHOD:{method}\nBEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\nEND:VCALENDAR"
    assert reason(mail(body, content_type="text/calendar")) == word
