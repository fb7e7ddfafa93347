"""Mails with several readers: who takes part in their thread, and who reads along."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.gateway.events import MessageReceived, Proof
from bot.sessions.audience import Audience
from tests.intake.desk import Desk
from tests.intake.events import sender
from tests.intake.test_strangers import STRANGER, keys, mail

ADA, BOB, GUEST = "2", "3", "4"


def to(event: MessageReceived, *others: str, proven: bool = True) -> MessageReceived:
    """The mail names these readers too; `proven`: and its sender's proof covers that."""
    place = replace(event.place, others=tuple(sender(other, proof=Proof.NONE) for other in others))
    return replace(event, place=place, invited=others if proven else ())


async def test_whom_the_opening_mail_named_joins_with_an_answer_to_all(desk: Desk) -> None:
    await desk.accept(to(mail("1"), ADA))
    await desk.accept(to(mail("2", "test:1", by=ADA), "1"))
    first, second = await keys(desk)
    assert first == second
    assert (await desk.session(first)).audience is Audience.ROOM
    assert (await desk.session(first)).audience_epoch == 0


async def test_so_does_whom_a_later_mail_named_and_what_was_said_before_is_cut_off(desk: Desk) -> None:
    await desk.accept(mail("1"))
    key = (await keys(desk))[0]
    assert (await desk.session(key)).audience is Audience.PERSON
    await desk.accept(to(mail("2", "test:1"), ADA))
    await desk.accept(mail("3", "test:2", by=ADA))
    assert set(await keys(desk)) == {key}
    session = await desk.session(key)
    assert (session.audience, session.audience_epoch) == (Audience.ROOM, 1)


async def test_within_one_delivery_too(desk: Desk) -> None:
    await desk.accept(to(mail("1"), ADA), mail("2", "test:1", by=ADA))
    first, second = await keys(desk)
    assert first == second


@pytest.mark.case(85)
async def test_case_85_whom_nobody_proven_named_takes_no_part(desk: Desk) -> None:
    await desk.accept(to(mail("1"), ADA, proven=False))
    await desk.accept(mail("2", "test:1", by=ADA), to(mail("3"), BOB))
    await desk.accept(mail("4", "test:3", by=ADA))
    threads = await keys(desk)
    assert len(set(threads)) == 4
    # An unproven header still counts as evidence of who reads along.
    assert (await desk.session(threads[0])).audience is Audience.ROOM


async def test_a_reader_from_outside_makes_the_thread_external_and_cuts_off_what_was_said(desk: Desk) -> None:
    await desk.accept(to(mail("1"), ADA))
    key = (await keys(desk))[0]
    await desk.accept(to(mail("2", "test:1", by=ADA), "1", STRANGER))
    session = await desk.session(key)
    assert (session.audience, session.audience_epoch) == (Audience.EXTERNAL, 1)
    # Named or not: who is not on the roster joins nothing.
    await desk.accept(mail("3", "test:2", by=STRANGER))
    assert (await desk.rows())[-1].session is None


async def test_a_guest_who_was_named_takes_part_and_makes_the_thread_external(desk: Desk) -> None:
    await desk.accept(to(mail("1"), GUEST))
    await desk.accept(mail("2", "test:1", by=GUEST))
    first, second = await keys(desk)
    assert first == second
    assert (await desk.session(first)).audience is Audience.EXTERNAL
