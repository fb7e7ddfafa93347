"""A mail that proves by its token in which thread we wrote to its sender."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from bot.audit.tables import content
from bot.gateway.channel import Accepted
from bot.gateway.events import Chain, MessageReceived, Proof
from tests.intake.desk import Desk
from tests.intake.events import message, sender
from tests.sessions.rooms import CHANNEL

NEW_KEY = f"{CHANNEL}:made-by-us"


def told(key: str, by: str, chain: Chain, proof: Proof = Proof.TOKEN, note: str = "") -> MessageReceived:
    return message(key, key, by=replace(sender(by, proof=proof), note=note), thread=chain, live=False)


async def ref_of(desk: Desk, number: int) -> str:
    row = (await desk.rows())[number]
    assert isinstance(row.event, MessageReceived)
    return row.event.ref


async def key_of(desk: Desk, number: int) -> str:
    row = (await desk.rows())[number]
    assert isinstance(row.event, MessageReceived)
    return row.event.reply_path.thread


@pytest.mark.case(85)
async def test_case_85_the_tokens_thread_is_joined_whatever_the_references_say(desk: Desk) -> None:
    for name in ("one", "two"):
        assert await desk.one(told(name, "1", Chain(CHANNEL, ()), Proof.DOMAIN)) is Accepted.NEW
    first, second = await key_of(desk, 0), await key_of(desk, 1)
    assert first != second
    refs = (await ref_of(desk, 1),)
    await desk.one(told("three", "1", Chain(CHANNEL, refs, first)))
    assert await key_of(desk, 2) == first
    await desk.one(told("four", "1", Chain(CHANNEL, refs)))
    assert await key_of(desk, 3) == second


async def test_one_who_only_got_our_mail_joins_by_its_token(desk: Desk) -> None:
    await desk.one(told("one", "1", Chain(CHANNEL, ()), Proof.DOMAIN))
    await desk.one(told("two", "2", Chain(CHANNEL, (), await key_of(desk, 0))))
    assert await key_of(desk, 1) == await key_of(desk, 0)
    # Without the token, references to a thread in which one takes no part lead nowhere.
    refs = (await ref_of(desk, 0),)
    await desk.one(told("three", "3", Chain(CHANNEL, refs), Proof.DOMAIN))
    assert await key_of(desk, 2) != await key_of(desk, 0)


async def test_answer_to_an_unasked_mail_opens_the_thread_that_the_mail_named(desk: Desk) -> None:
    await desk.one(told("one", "1", Chain(CHANNEL, (), NEW_KEY)))
    await desk.one(told("two", "1", Chain(CHANNEL, (), NEW_KEY)))
    assert {await key_of(desk, 0), await key_of(desk, 1)} == {NEW_KEY}


async def test_token_lets_nobody_in(desk: Desk) -> None:
    assert await desk.one(told("one", "999", Chain(CHANNEL, (), NEW_KEY))) is Accepted.REFUSED


async def test_why_a_sender_is_unproven_stands_in_the_audits_erasable_text(desk: Desk) -> None:
    event = told("one", "1", Chain(CHANNEL, ()), Proof.NONE, "corp.example publishes no DMARC policy")
    assert await desk.one(event) is Accepted.REFUSED
    (entry,) = await desk.audited("message_refused")
    assert "DMARC" not in str(entry)
    texts = await desk.database.read(lambda c: c.execute(sa.select(content.c.text)).scalars().all())
    assert "1: corp.example publishes no DMARC policy" in texts
