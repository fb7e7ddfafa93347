"""Who may read it, whether it was said already, whether it is too much, whether somebody sleeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.kernel.ids import ClaimId, SessionId
from bot.ledger import guard
from bot.ledger.acting.payload import UnfitError
from bot.ledger.guard import Earlier, Limits, Sight
from bot.ledger.model import Failure, State
from bot.sessions.audience import Audience
from tests.ledger.workshop import BOB, GUEST, Workshop, mail, message
from tests.outbox.post import Post
from tests.people.test_model import person
from tests.sessions.rooms import CHANNEL, PEOPLE, ROOM

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
FACT, OTHER = ClaimId("f" * 24), ClaimId("0" * 24)


@given(st.lists(st.sampled_from([*Sight, None]), max_size=4), st.booleans())
def test_a_fact_that_is_not_known_or_does_not_stand_is_never_told_whatever_was_approved(
    sights: list[Sight | None], disclosed: bool
) -> None:
    facts = [ClaimId(str(number)) for number in range(len(sights))]
    known = {fact: sight for fact, sight in zip(facts, sights, strict=True) if sight is not None}
    refusal = guard.audience(facts, facts if disclosed else [], known)
    closed = None in sights or Sight.GONE in sights or (Sight.HIDDEN in sights and not disclosed)
    assert (refusal is not None) == closed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Please send the report by Friday", "please send the report by Friday!", True),
        ("Please send the report by Friday", "Please send the invoice to Kim today", False),
        ("Ping", "ping", True),
        ("Ping", "Pong", False),
        ("?!", "?!", True),
        ("", "Hello", False),
    ],
)
def test_nearly_the_same_words_are_known_as_such(one: str, other: str, same: bool) -> None:
    assert guard.alike(one, other) is same


def test_what_was_said_a_while_ago_may_be_said_again() -> None:
    limits = Limits(duplicate_window=timedelta(minutes=30))
    before = [Earlier("The same old words", NOW - timedelta(minutes=31))]
    assert guard.repeated("The same old words", before, limits, NOW) is None
    assert guard.repeated("The same old words", before, limits, NOW - timedelta(minutes=2)) is not None


def test_the_cap_lets_the_next_one_through_when_the_oldest_is_an_hour_old() -> None:
    times = [NOW - timedelta(minutes=m) for m in (50, 40, 70)]
    assert guard.not_before([], {"ben": times}, Limits(per_hour=3), NOW) is None
    found = guard.not_before([], {"ben": times}, Limits(per_hour=2), NOW)
    assert found is not None
    assert found.at == NOW + timedelta(minutes=10)


def test_nobody_is_woken() -> None:
    sleeper = replace(person("zoe"), quiet_hours=("20:00", "10:30"))
    found = guard.not_before([sleeper], {}, Limits(), NOW)
    assert found is not None
    assert found.at == NOW + timedelta(minutes=90)


# --- in the ledger ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sight", [Sight.HIDDEN, Sight.GONE, None])
async def test_what_its_readers_may_not_see_is_not_sent_although_it_was_approved(
    shop: Workshop, sight: Sight | None
) -> None:
    if sight is not None:
        shop.seen.sights[FACT] = sight
    made = await shop.approved("send_email", mail(), rests_on=(FACT,))
    await shop.settle()
    after = await shop.now(made)
    assert (after.state, after.failure) == (State.FAILED, Failure.REFUSED)
    assert shop.outside.channel.texts == []
    assert shop.seen.asked[-1].outside


async def test_what_the_approver_saw_would_be_told_may_be_told(shop: Workshop) -> None:
    shop.seen.sights[FACT] = Sight.HIDDEN
    await shop.approved("send_email", mail(discloses=[FACT]), rests_on=(FACT,))
    await shop.settle()
    assert shop.outside.channel.texts == ["Hello"]


async def test_a_guest_counts_as_somebody_from_outside_and_a_colleague_does_not(shop: Workshop) -> None:
    shop.seen.sights[FACT] = Sight.SEEN
    await shop.approved("send_message", message(to=GUEST), "a", rests_on=(FACT,))
    await shop.approved("send_message", message(to=BOB), "b", rests_on=(FACT,))
    await shop.settle()
    assert [(each.people, each.outside) for each in shop.seen.asked] == [((GUEST.id,), True), ((BOB.id,), False)]


async def test_the_same_words_twice_reach_a_person_once_and_another_person_too(shop: Workshop) -> None:
    made = [
        await shop.approved("send_message", message(to=to), key)
        for key, to in (("a", BOB), ("b", BOB), ("c", PEOPLE[0]))
    ]
    await shop.settle()
    assert [(await shop.now(each)).state for each in made] == [State.EXECUTED, State.FAILED, State.EXECUTED]
    assert len(shop.outside.channel.texts) == 2


async def test_what_is_too_much_for_an_hour_waits_and_then_goes_out(post: Post) -> None:
    shop = await Workshop(post, Limits(per_hour=1)).open()
    await shop.approved("send_message", message("first thing"), "a")
    second = await shop.approved("send_message", message("another matter"), "b")
    await shop.settle()
    assert shop.outside.channel.texts == ["first thing"]
    assert (await shop.now(second)).state is State.APPROVED_UNCHANGED
    assert await shop.worker.once() == timedelta(minutes=1)
    shop.clock.advance(timedelta(hours=1, seconds=1))
    await shop.settle()
    assert shop.outside.channel.texts == ["first thing", "another matter"]


async def test_what_comes_in_quiet_hours_waits_for_the_morning(post: Post) -> None:
    sleeper = replace(BOB, quiet_hours=("08:00", "09:00"), time_zone="Europe/Lisbon")
    shop = await Workshop(post).open(PEOPLE[0], sleeper)
    shop.clock.advance(timedelta(minutes=-20))
    await shop.approved("send_message", message())
    await shop.settle()
    assert shop.outside.channel.texts == []
    shop.clock.advance(timedelta(minutes=20))
    await shop.settle()
    assert shop.outside.channel.texts == ["Hello"]


async def test_a_room_that_more_people_read_by_now_is_not_written_to(shop: Workshop) -> None:
    await shop.rooms.see(["1", "2", "3"], 4)
    await shop.rooms.declare(Audience.ROOM)
    session: SessionId = await shop.rooms.open()
    epoch = (await shop.rooms.epochs(session))[1]
    into = {
        "to": [], "named": "Room", "channel": CHANNEL, "thread": ROOM, "read_by": "room", "epoch": epoch,
        "text": "Hello all", "discloses": [],
    }  # fmt: skip
    before = await shop.approved("send_message", into, "a")
    await shop.settle()
    assert (await shop.now(before)).state is State.EXECUTED
    assert shop.seen.asked == []
    made = await shop.approved("send_message", {**into, "text": "And this"}, "b")
    await shop.rooms.see(["4"], 5)
    await shop.settle()
    assert (await shop.now(made)).failure is Failure.REFUSED
    assert shop.outside.channel.texts == ["Hello all"]


async def test_who_has_left_the_company_is_not_written_to(shop: Workshop) -> None:
    from bot.audit.events import SYSTEM
    from bot.people import store as people

    made = await shop.approved("send_message", message())
    await shop.database.write(lambda tx: people.deactivate(tx, shop.recorder, BOB.id, SYSTEM, shop.clock.now()))
    await shop.settle()
    assert (await shop.now(made)).failure is Failure.REFUSED
    assert shop.outside.channel.texts == []


async def test_a_payload_holds_nothing_that_is_not_shown(shop: Workshop) -> None:
    with pytest.raises(UnfitError, match="bcc"):
        await shop.propose("send_email", {**mail(), "bcc": "eve@evil.example"})
    for action, payload in (("send_email", mail(discloses=[FACT])), ("send_message", message(discloses=[FACT]))):
        kind = shop.ledger.action(action)
        shown = kind.show(kind.checked(payload))
        words = " ".join((*(value for _, value in shown.fields), shown.body))
        for name, value in payload.items():
            for each in value if isinstance(value, list) else [value]:
                assert str(each)[-6:] in words, f"{name} of {action} is not shown"


async def test_somebody_whose_mail_came_back_was_not_written_to_with_success(shop: Workshop) -> None:
    of = await shop.approved("send_email", mail())
    await shop.settle()
    to = ["kim@outside.example"]
    assert await shop.database.read(lambda c: guard.written_to(c, "send_email", to))
    done = await shop.now(of)
    await shop.database.write(lambda tx: shop.ledger.came_back(tx, done, shop.clock.now(), "no such user"))
    assert (await shop.now(of)).came_back
    assert not await shop.database.read(lambda c: guard.written_to(c, "send_email", to))
