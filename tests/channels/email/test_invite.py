"""Calendar mail as a few lines of text, and what of it is a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.events import MessageReceived, SpanKind
from channels.email import server
from channels.email.invite import NOT_QUESTIONS, read
from tests.channels.email.harness import running
from tests.channels.email.support import Roster, mail
from tests.channels.email.test_adapter import LOCAL, said
from tests.channels.inbox import MemoryInbox

NAMES = ["DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "ORGANIZER", "ATTENDEE"]


def event(*lines: str, method: str = "REQUEST") -> str:
    inside = "\r\n".join(("BEGIN:VEVENT", "SUMMARY:Budget", *lines, "END:VEVENT"))
    return f"BEGIN:VCALENDAR\r\nMETHOD:{method}\r\n{inside}\r\nEND:VCALENDAR\r\n"


def when(*lines: str) -> str:
    invite = read(event(*lines))
    assert invite is not None
    return "\n".join(invite.summary.splitlines()[1:])


@pytest.mark.case(97)
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["DTSTART;VALUE=DATE:20260201", "DTEND;VALUE=DATE:20260202"], "When: 2026-02-01 (all day)"),
        (["DTSTART;VALUE=DATE:20260201", "DTEND;VALUE=DATE:20260301"], "When: 2026-02-01 to 2026-02-28"),
        (["DTSTART;VALUE=DATE:20260201"], "When: 2026-02-01"),
        (["DTSTART:20260201T100000Z", "DURATION:PT1H30M"], "When: 2026-02-01 10:00 (UTC), for 1 h 30 min"),
        (["DTSTART:20260201T100000Z", "DURATION:P1W"], "When: 2026-02-01 10:00 (UTC), for 1 w"),
        (["DTSTART:20260201T100000Z", "DURATION:nonsense"], "When: 2026-02-01 10:00 (UTC)"),
        (["DTSTART:20260201T100000"], "When: 2026-02-01 10:00 (local time)"),
        (["DTSTART:20260201T100000Z", "RRULE:FREQ=WEEKLY"], "When: 2026-02-01 10:00 (UTC) (repeats)"),
        (
            ["DTSTART:20260208T110000Z", "RECURRENCE-ID:20260208T100000Z"],
            "When: 2026-02-08 11:00 (UTC)\nOnly the occurrence of 2026-02-08 10:00 (UTC) of a series",
        ),
    ],
)
def test_case_97_when_it_is(lines: list[str], text: str) -> None:
    assert when(*lines) == text


@pytest.mark.case(97)
@pytest.mark.parametrize("method", sorted(NOT_QUESTIONS))
async def test_case_97_what_is_no_question_is_marked_and_its_sender_gets_no_bounce(tmp_path: Path, method: str) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as channel:
        calendar = event("DTSTART:20260201T100000Z", method=method)
        body = f"--B\nContent-Type: text/plain\n\nSee you.\n--B\nContent-Type: text/calendar\n\n{calendar}\n--B--"
        raw = mail(body, content_type="multipart/alternative; boundary=B", **LOCAL)
        assert await said(channel, raw) == server.OK
    (told,) = inbox.events
    assert isinstance(told, MessageReceived)
    assert told.automatic == f"calendar_{method.lower()}"
    assert "See you." in told.body.text
    assert "2026-02-01 10:00" in told.body.text


@pytest.mark.case(97)
@pytest.mark.parametrize("method", ["REQUEST", "PUBLISH", "COUNTER", "ADD"])
async def test_case_97_invitations_are_read_as_text_and_never_answered_by_the_calendar(
    tmp_path: Path, method: str
) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        raw = mail(event("ORGANIZER:mailto:principal@localhost", method=method), content_type="text/calendar", **LOCAL)
        assert await said(channel, raw) == server.OK
    (told,) = inbox.events
    assert isinstance(told, MessageReceived)
    assert told.automatic is None
    assert {span.kind for span in told.body.spans} == {SpanKind.OWN}
    assert not (tmp_path / "maildir").exists()


@pytest.mark.case(97)
@given(
    st.lists(st.sampled_from(["DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "ORGANIZER", "ATTENDEE"]), max_size=4)
)
@pytest.mark.parametrize("value", ["", "0" * 8, "99999999", "00010101", "P", "P9999W", "\x00", ";=:", '"'])
def test_case_97_broken_values_are_no_crash(value: str, names: list[str]) -> None:
    read(event(*(f"{name}:{value}" for name in names)))
