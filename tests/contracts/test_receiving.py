"""What people write reaches the inbox: told rightly, once, in order, and acknowledged only when it is safe."""

from __future__ import annotations

import asyncio

import pytest

from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed, Chain, MessageDeleted, MessageEdited, Nature, Proof, Thread
from tests.contracts.bench import Bench, Talk, Who, until, until_true
from tests.contracts.those import those


async def test_a_message_says_who_where_and_to_whom(bench: Bench) -> None:
    ref = await bench.far.writes(Who.ANN, "What is our runway?")
    event = await bench.message(ref)
    key, kind = bench.far.place_of(Talk.DIRECT)
    assert event.body.own() == "What is our runway?"
    assert (event.sender.address, event.sender.nature) == (bench.far.address(Who.ANN), Nature.PERSON)
    assert event.sender.proof is not Proof.NONE
    assert event.addressed is Addressed.DIRECT
    assert event.place.kind is kind
    assert event.keys
    assert all(one.startswith(f"{bench.channel.name}:") for one in (*event.keys, event.ref))
    assert event.reply_path.address == bench.far.address(Who.ANN)
    assert event.automatic is None
    assert event.sent_at.utcoffset() is not None
    match event.thread:
        case Thread(thread, place):
            assert (thread, place) == (bench.far.thread_of(ref, Talk.DIRECT), key)
            assert event.reply_path.thread == thread
        case Chain() as chain:
            assert bench.far.thread_of(ref, Talk.DIRECT) is None
            assert chain.channel == bench.channel.name


@those(lambda can: can.groups)
async def test_a_message_among_several_names_its_room(bench: Bench) -> None:
    ref = await bench.far.writes(Who.BEN, "and the rent?", Talk.GROUP)
    event = await bench.message(ref)
    key, kind = bench.far.place_of(Talk.GROUP)
    assert event.sender.address == bench.far.address(Who.BEN)
    assert event.addressed in (Addressed.MENTION, Addressed.DIRECT)
    assert event.place.kind is kind
    assert "rent" in event.body.own()
    if isinstance(event.thread, Thread):
        assert (event.thread.key, event.thread.place) == (bench.far.thread_of(ref, Talk.GROUP), key)
    else:
        assert {other.address for other in event.place.others} == {bench.far.address(Who.ANN)}


@those(lambda can: can.groups)
async def test_what_is_not_put_to_the_executive_is_told_as_such_or_not_at_all(bench: Bench) -> None:
    await bench.far.writes(Who.BEN, "just among us", Talk.GROUP, mention=False)
    await bench.heard(Who.ANN, "but this is", Talk.GROUP)
    heard = [event for event in bench.inbox.offered if "among us" in getattr(getattr(event, "body", None), "text", "")]
    assert all(getattr(event, "addressed", None) is Addressed.NOT for event in heard)
    assert [bench.far.plain(text) for text in bench.inbox.texts()] == ["but this is"]


async def test_the_same_delivery_twice_is_told_under_a_key_that_is_known(bench: Bench) -> None:
    ref = await bench.far.writes(Who.ANN, "once")
    await bench.message(ref)
    await until_true(lambda: bench.far.taken(ref, bench.inbox))
    await bench.far.repeats(ref)
    await bench.heard(text="and then")
    await until(lambda: Accepted.DUPLICATE in bench.inbox.answers)
    assert bench.inbox.texts() == ["once", "and then"]


async def test_nothing_is_acknowledged_before_it_was_accepted(bench: Bench) -> None:
    bench.inbox.hold()
    ref = await bench.far.writes(Who.ANN, "keep this")
    await until(lambda: bench.inbox.inside > 0)
    assert not await bench.far.taken(ref, bench.inbox)
    assert bench.inbox.texts() == []
    bench.inbox.release()
    await bench.message(ref)
    await bench.far.insist()
    await until_true(lambda: bench.far.taken(ref, bench.inbox))
    assert bench.inbox.texts() == ["keep this"]


async def test_what_could_not_be_stored_comes_again(bench: Bench) -> None:
    bench.inbox.fail(2)
    ref = await bench.far.writes(Who.ANN, "the disk is full")
    await until(lambda: bench.inbox.failed >= 1)
    assert not await bench.far.taken(ref, bench.inbox)

    async def insisting() -> bool:
        await bench.far.insist()
        return bool(bench.inbox.texts())

    await until_true(insisting)
    await until_true(lambda: bench.far.taken(ref, bench.inbox))
    await bench.heard(text="next")
    assert bench.inbox.texts() == ["the disk is full", "next"]


async def test_a_thread_keeps_its_order(bench: Bench) -> None:
    wanted = [f"number {number}" for number in range(12)]
    for text in wanted:
        ref = await bench.far.writes(Who.ANN, text)
        if bench.far.channel == "email":  # a mail server hands over one after the other; several would race
            await until_true(lambda ref=ref: bench.far.taken(ref, bench.inbox))  # type: ignore[misc]
    await until(lambda: len(bench.inbox.texts()) == len(wanted))
    assert bench.inbox.texts() == wanted


async def test_order_is_kept_while_the_store_stumbles(bench: Bench) -> None:
    wanted = [f"number {number}" for number in range(4)]
    bench.inbox.fail(1)
    for text in wanted:
        ref = await bench.far.writes(Who.ANN, text)
        if bench.far.channel in ("email", "terminal", "slack", "web"):  # these deliver again, each in its own time

            async def insisting(ref: str = ref) -> bool:
                await bench.far.insist()
                return await bench.far.taken(ref, bench.inbox)

            await until_true(insisting)
    await until(lambda: len(bench.inbox.texts()) == len(wanted))
    assert bench.inbox.texts() == wanted


async def test_a_restart_loses_nothing_and_doubles_nothing(bench: Bench) -> None:
    before = await bench.far.writes(Who.ANN, "before")
    await bench.message(before)
    await until_true(lambda: bench.far.taken(before, bench.inbox))
    await bench.stop()
    bench.rung.clear()
    await bench.far.writes(Who.ANN, "while you were away")
    await bench.restart()

    async def insisting() -> bool:
        await bench.far.insist()
        return "while you were away" in bench.inbox.texts()

    await until_true(insisting)
    await bench.heard(text="after")
    assert sorted(bench.inbox.texts()) == ["after", "before", "while you were away"]


async def test_a_process_that_dies_before_the_commit_gets_the_message_again(bench: Bench) -> None:
    first = await bench.far.writes(Who.ANN, "first")  # some platforms are read back only where we are known to be
    await bench.message(first)
    await until_true(lambda: bench.far.taken(first, bench.inbox))
    bench.inbox.hold()
    ref = await bench.far.writes(Who.ANN, "in the middle")
    await until(lambda: bench.inbox.inside > 0)
    await bench.stop()
    assert bench.inbox.texts() == ["first"]
    bench.inbox.release()
    await bench.restart()

    async def insisting() -> bool:
        await bench.far.insist()
        return "in the middle" in bench.inbox.texts()

    await until_true(insisting)
    await until_true(lambda: bench.far.taken(ref, bench.inbox))
    await bench.heard(text="after")
    assert bench.inbox.texts() == ["first", "in the middle", "after"]


@those(lambda can: can.edits)
async def test_an_edit_names_the_message_and_its_new_words(bench: Bench) -> None:
    event = await bench.heard(text="Our runway is 14 months.")
    await bench.far.edits(event.ref, "Our runway is 12 months.")

    def edits() -> list[MessageEdited]:
        return [one for one in bench.inbox.events if isinstance(one, MessageEdited)]

    await until(lambda: bool(edits()))
    (edit,) = edits()
    assert (edit.ref, edit.body.own()) == (event.ref, "Our runway is 12 months.")
    assert edit.sender.address == event.sender.address
    assert not set(edit.keys) & set(event.keys)


@those(lambda can: can.deletes)
async def test_a_deletion_names_the_message(bench: Bench) -> None:
    event = await bench.heard(text="never mind")
    await bench.far.deletes(event.ref)

    def deletions() -> list[MessageDeleted]:
        return [one for one in bench.inbox.events if isinstance(one, MessageDeleted)]

    await until(lambda: bool(deletions()))
    assert [one.ref for one in deletions()] == [event.ref]


@those(lambda can: can.edits and not can.deletes)
async def test_where_deletions_are_not_told_none_is_made_up(bench: Bench) -> None:
    event = await bench.heard(text="never mind")
    await bench.far.deletes(event.ref)
    await bench.heard(text="after")
    assert not [one for one in bench.inbox.offered if isinstance(one, MessageDeleted)]


@those(lambda can: can.strangers)
async def test_a_stranger_is_handed_over_as_what_they_are_and_told_nothing_by_the_channel(bench: Bench) -> None:
    ref = await bench.far.writes(Who.EVE, "let me in")
    event = await bench.message(ref)
    assert event.sender.address == bench.far.address(Who.EVE)
    assert event.sender.nature is Nature.PERSON
    assert bench.far.shown(Talk.DIRECT, Who.EVE) == []


@those(lambda can: can.bots)
async def test_a_machine_is_never_taken_for_a_person(bench: Bench) -> None:
    await bench.far.bot_writes("I am back soon")
    await bench.heard(text="a person")
    await asyncio.sleep(0)
    machines = [m for m in bench.inbox.messages() if "back soon" in m.body.text]
    assert all(m.sender.nature is Nature.BOT or m.automatic is not None for m in machines)
    assert "a person" in bench.inbox.texts()


async def test_own_messages_do_not_come_back_as_anybodys(bench: Bench) -> None:
    path = await bench.path(text="say something")
    await bench.say(path, "my own words")
    await bench.until_shown("my own words")
    await bench.far.own_words("my own words")
    await bench.heard(text="and now")
    mine = [m for m in bench.inbox.messages() if "my own words" in m.body.text]
    assert all(m.sender.nature is Nature.SELF or m.automatic is not None for m in mine)


@pytest.mark.case(74)
@those(lambda can: can.bots and can.groups)
async def test_case_74_two_machines_that_name_each_other_come_to_no_talk(bench: Bench) -> None:
    for _ in range(3):
        await bench.far.bot_writes("you said?")
    await bench.heard(text="a person", talk=Talk.GROUP)
    people = [m for m in bench.inbox.messages() if m.sender.nature is Nature.PERSON and m.automatic is None]
    assert [bench.far.plain(m.body.own()) for m in people] == ["a person"]
