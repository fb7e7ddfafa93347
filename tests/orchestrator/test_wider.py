"""A mail thread that more people read than before: what is shown, and what its readers are told."""

from __future__ import annotations

from dataclasses import replace

from bot.gateway.events import MessageReceived
from bot.orchestrator.decide import SILENCE
from bot.orchestrator.ends import UNSEEN
from tests.intake.test_mail_threads import to
from tests.intake.test_strangers import mail
from tests.orchestrator.office import Office
from tests.orchestrator.test_lanes import greeted

NOTE = "From now on I treat this thread as"


def says(event: MessageReceived, text: str) -> MessageReceived:
    return replace(event, body=replace(event.body, text=text))


async def lines(office: Office, count: int) -> list[str]:
    """What was sent, once there are `count` lines; the scripted channel sends each as a message of its own."""
    return [text for text in await office.said(count) if text]


async def test_the_next_mail_announces_it_once_and_what_was_said_before_is_not_shown(office: Office) -> None:
    await greeted(office, "1", "2")
    await office.hear(says(mail("1"), "MANGO"))
    await office.ended("answered")
    await office.hear(says(to(mail("2", "test:1"), "2"), "KIWI"))
    await office.ended("answered", "answered")
    await office.hear(says(to(mail("3", "test:2", by="2"), "1"), "PAPAYA"))
    assert await lines(office, 5) == [
        "Answer 1.",
        f"*{NOTE} **room**: only people of the roster read this thread. {UNSEEN}*",
        "Answer 2.",
        "Answer 3.",
    ]
    assert "MANGO" not in office.prompted(1)
    assert "KIWI" in office.prompted(2)
    assert "MANGO" not in office.prompted(2)


async def test_a_reader_from_outside_is_announced_without_a_name(office: Office) -> None:
    await greeted(office, "1")
    await office.hear(mail("1"))
    await office.ended("answered")
    await office.hear(to(mail("2", "test:1"), "eve@outside.example"))
    said = await lines(office, 4)
    assert said[1] == f"*{NOTE} **external**: someone here is not on the roster. {UNSEEN}*"
    assert "eve" not in "".join(said)


async def test_a_thread_that_several_read_from_the_beginning_is_not_announced(office: Office) -> None:
    await greeted(office, "1")
    await office.hear(to(mail("1"), "2", "eve@outside.example"))
    assert await lines(office, 1) == ["Answer 1."]


async def test_who_was_only_silent_leaves_it_to_the_next_answer(office: Office) -> None:
    await greeted(office, "1")
    await office.hear(mail("1"))
    await office.ended("answered")
    office.model.answer = lambda request: SILENCE
    await office.hear(to(mail("2", "test:1"), "2"))
    await office.ended("answered", "silent")
    office.model.answer = lambda request: "Words again."
    await office.hear(mail("3", "test:2"))
    said = await lines(office, 4)
    assert said[1].startswith(f"*{NOTE} **room**")
