"""What people do to memories, and what becomes of the others on the same subject."""

from __future__ import annotations

from datetime import date

import pytest
import sqlalchemy as sa

from bot.kernel.ids import PersonId
from bot.memory import store
from bot.memory.model import (
    EXECUTIVE,
    ConflictError,
    Held,
    Kind,
    Op,
    Source,
    Status,
    Support,
    Trust,
    Visibility,
    Work,
)
from bot.memory.reading import Filter
from bot.memory.rights import Door
from bot.memory.service import Done, NotAllowedError, Outcome, UnclearError, UnknownMemoryError
from bot.memory.tables import claim
from bot.people.tables import handle
from tests.memory.claims import MODEL
from tests.memory.desk import CountingEraser, Desk, person, session


async def test_a_correction_stands_as_the_persons_and_the_old_words_stay_in_the_history(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    done = await desk.do("ada", "correct", said, "We launch in April.")
    assert done.outcome is Outcome.DONE
    after = await desk.look(said)
    assert (after.statement, after.author.kind, after.author.name) == ("We launch in April.", "person", "ada")
    assert after.by_person
    assert (after.support, after.version) == (Support.PERSON, 2)
    event = (await desk.history(said, person("ada")))[-1]
    assert (event.op, event.actor, event.reason) == (Op.EDITED, "ada", "a reason")
    assert event.before is not None
    assert event.before["statement"] == "We launch in March."
    assert await desk.audited() == [("memory_edited", "ada")]


async def test_nothing_is_changed_without_a_reason_or_without_words(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    with pytest.raises(UnclearError, match="say why"):
        await desk.do("ada", "retract", said, reason=" \u200b ")
    with pytest.raises(UnclearError):
        await desk.do("ada", "correct", said, "  ")
    for words in ("x" * 1_001, "😀", "...", "\u200b!"):
        with pytest.raises(UnclearError, match="a sentence in words"):
            await desk.do("ada", "correct", said, words)
    with pytest.raises(UnclearError, match="cannot be seen"):
        await desk.do("ada", "correct", said, "We launch\x00 in May.")
    assert (await desk.look(said)).version == 1


async def test_what_changed_meanwhile_is_not_written_over(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "correct", said, "We launch in April.", version=1)
    with pytest.raises(ConflictError, match="version 2"):
        await desk.do("ada", "correct", said, "We launch in May.", version=1)
    assert (await desk.look(said)).statement == "We launch in April."


async def test_what_a_person_may_not_see_is_not_there_for_them(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    for who in ("bob", "boss", "guest"):
        with pytest.raises(UnknownMemoryError):
            await desk.do(who, "retract", said)


# --- disputes --------------------------------------------------------------------------------------------------------


async def test_correcting_what_another_said_lets_both_stand_as_disputed(desk: Desk) -> None:
    room = await desk.room("ada", "bob")
    said = await desk.said(room, "ada")
    done = await desk.do("bob", "correct", said, "We launch in May.")
    assert done.outcome is Outcome.DISPUTED
    assert (await desk.look(said)).status is Status.DISPUTED
    assert await desk.sees(session(room)) == ["We launch in May.", "We launch in March."]
    assert (await desk.look(said)).statement == "We launch in March."


async def test_a_dispute_ends_when_one_of_two_takes_back_what_they_said(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    other = await desk.said(said.session, "bob", "We launch in May.", status=Status.DISPUTED)
    await desk.do("bob", "dispute", said)
    await desk.do("bob", "retract", other)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert (await desk.history(said, person("ada")))[-1].op is Op.SETTLED


async def test_a_dispute_ends_when_one_comes_to_say_what_the_other_says(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    await desk.do("bob", "correct", said, "We launch in May.")
    await desk.do("ada", "correct", said, "We launch in May!")
    assert await desk.sees(person("ada"), wanted=only(Status.ACTIVE)) == [
        "We launch in May.",
        "We launch in May!",
    ]


async def test_what_a_person_disputes_without_saying_otherwise_stays_disputed(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    await desk.do("bob", "retract", said)
    await desk.do("ada", "correct", said, "We launch in late March.")
    assert (await desk.look(said)).status is Status.DISPUTED


async def test_a_principal_settles_a_dispute_and_what_others_say_is_superseded(desk: Desk) -> None:
    room = await desk.room("boss", "ada", "bob")
    said = await desk.said(room, "ada")
    await desk.do("bob", "correct", said, "We launch in May.")
    with pytest.raises(NotAllowedError):
        await desk.do("ada", "accept", said)
    await desk.do("boss", "accept", said)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert await desk.sees(session(room), wanted=only(Status.SUPERSEDED)) == ["We launch in May."]


async def test_who_has_left_the_room_marks_a_dispute_and_writes_nothing_into_it(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    await desk.rooms.leave("3", key="test:group")
    await desk.do("bob", "correct", said, "We launch in May.")
    assert (await desk.look(said)).status is Status.DISPUTED
    assert await desk.sees(person("ada")) == ["We launch in March."]
    assert "We launch in May." in str((await desk.history(said, person("ada")))[-1].reason)


async def test_a_correction_of_what_the_company_sees_stands_beside_it_and_goes_before_the_principals(
    desk: Desk,
) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada", visibility=Visibility.COMPANY)
    await desk.alone("bob")
    done = await desk.do("bob", "correct", said, "We launch in May.")
    assert done.outcome is Outcome.DISPUTED
    assert done.beside is not None
    assert (done.beside.status, done.beside.speaker, done.beside.promotion_by) == (Status.DISPUTED, "bob", "bob")
    assert done.beside.handle in str((await desk.history(said, person("ada")))[-1].reason)
    assert await desk.sees(person("bob")) == ["We launch in May.", "We launch in March."]
    assert await desk.sees(person("ada")) == ["We launch in March."]
    assert await desk.waits("boss") == ["We launch in May.", "We launch in March."]
    await desk.do("boss", "accept", done.beside)
    assert await desk.sees(person("ada"), wanted=only(Status.DISPUTED)) == ["We launch in May.", "We launch in March."]
    await desk.do("boss", "accept", done.beside)
    assert await desk.sees(person("ada"), wanted=only(Status.ACTIVE)) == ["We launch in May."]
    assert await desk.waits("boss") == []


async def test_a_principal_s_no_to_such_a_correction_settles_what_the_company_sees(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada", visibility=Visibility.COMPANY)
    await desk.alone("bob")
    done = await desk.do("bob", "correct", said, "We launch in May.")
    assert done.beside is not None
    await desk.do("boss", "reject", done.beside)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert (await desk.look(done.beside)).status is Status.RETRACTED


async def test_a_yes_to_what_the_company_sees_supersedes_such_a_correction(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada", visibility=Visibility.COMPANY)
    await desk.alone("bob")
    done = await desk.do("bob", "correct", said, "We launch in May.")
    assert done.beside is not None
    await desk.do("boss", "accept", said)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert (await desk.look(done.beside)).status is Status.SUPERSEDED
    assert await desk.waits("boss") == []


async def test_what_is_disputed_already_is_told_in_words(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    await desk.do("bob", "dispute", said)
    with pytest.raises(ConflictError, match="is disputed already: who said it, or a principal, decides"):
        await desk.do("bob", "retract", said)


async def test_the_first_refusal_names_what_stands_now(desk: Desk) -> None:
    room = await desk.room("ada", "boss")
    first = await desk.said(room, "ada")
    second = await desk.said(room, "ada", "We launch in April.", status=Status.PENDING, held=(Held.UNSUPPORTED,))
    await desk.do("boss", "accept", second)
    last = await desk.said(room, "ada", "We launch in May.", status=Status.PENDING, held=(Held.UNSUPPORTED,))
    await desk.do("boss", "accept", last)
    with pytest.raises(ConflictError, match=f"{first.handle} was replaced by {last.handle}: correct {last.handle}"):
        await desk.do("ada", "correct", first, "We launch in June.")


async def test_a_preference_of_one_is_not_disputed_by_that_of_another(desk: Desk) -> None:
    room = await desk.room("ada", "bob")
    one = await desk.said(room, "ada", "I like short answers.", kind=Kind.PREFERENCE)
    two = await desk.said(
        room, "bob", "I like long answers.", kind=Kind.PREFERENCE, status=Status.PENDING, held=(Held.UNSUPPORTED,)
    )
    await desk.do("bob", "accept", two)
    assert (await desk.look(one)).status is (await desk.look(two)).status is Status.ACTIVE


# --- what waits ------------------------------------------------------------------------------------------------------


async def test_a_yes_to_what_waits_supersedes_what_the_speaker_had_said(desk: Desk) -> None:
    room = await desk.alone("ada")
    old = await desk.said(room, "ada")
    new = await desk.said(
        room, "ada", "We launch in April.", status=Status.PENDING, held=(Held.OUTRANKED,), messages=("m2",)
    )
    await desk.do("ada", "accept", new)
    assert (await desk.look(new)).status is Status.ACTIVE
    assert (await desk.look(old)).replaced_by == new.id


async def test_what_a_guest_said_alone_waits_for_a_principal_who_sees_the_sentence_only(desk: Desk) -> None:
    said = await desk.said(
        await desk.alone("guest"), "guest", status=Status.PENDING, held=(Held.UNTRUSTED,), trust=Trust.GUEST
    )
    assert await desk.waits("boss") == ["We launch in March."]
    assert await desk.words(said, person("boss")) == []
    for who in ("ada", "bob"):
        assert await desk.waits(who) == []
    with pytest.raises(NotAllowedError):
        await desk.do("guest", "accept", said)
    await desk.do("boss", "accept", said)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert await desk.sees(person("boss")) == [], "it is of that conversation"


async def test_what_a_member_said_alone_waits_unseen_by_others(desk: Desk) -> None:
    await desk.said(await desk.alone("ada"), "ada", status=Status.PENDING, held=(Held.PAYMENT,))
    assert await desk.waits("ada") == ["We launch in March."]
    assert await desk.waits("boss") == []


async def test_a_member_puts_what_waits_before_the_principals_whose_yes_lets_it_stand_where_it_was_said(
    desk: Desk,
) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", "Bob pays.", status=Status.PENDING, held=(Held.PAYMENT,))
    done = await desk.do("ada", "accept", said)
    assert (done.outcome, done.claim.status, done.claim.held) == (Outcome.ASKED, Status.PENDING, (Held.PAYMENT,))
    assert await desk.waits("boss") == ["Bob pays."]
    assert await desk.words(said, person("boss")) == []
    assert await desk.waits("bob") == []
    with pytest.raises(NotAllowedError, match="was put before the principals"):
        await desk.do("ada", "accept", said)
    await desk.do("boss", "accept", said)
    after = await desk.look(said)
    assert (after.status, after.visibility, after.promotion_by) == (Status.ACTIVE, Visibility.SESSION, None)
    assert await desk.sees(person("boss")) == await desk.sees(person("bob")) == []


@pytest.mark.parametrize("who", ["boss", "ada"])
async def test_a_no_to_what_was_put_before_the_principals_takes_it_back(desk: Desk, who: str) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", status=Status.PENDING, held=(Held.PAYMENT,))
    await desk.do("ada", "accept", said)
    await desk.do(who, "reject", said)
    assert (await desk.look(said)).status is Status.RETRACTED
    assert await desk.waits("boss") == []


@pytest.mark.parametrize("status", [Status.PENDING, Status.ACTIVE])
async def test_a_principals_yes_never_meets_words_that_were_changed_since_they_were_asked(
    desk: Desk, status: Status
) -> None:
    held = (Held.PAYMENT,) if status is Status.PENDING else ()
    said = await desk.said(await desk.alone("ada"), "ada", "Bob pays 5.", status=status, held=held)
    await desk.do("ada", "promote" if status is Status.ACTIVE else "accept", said)
    await desk.do("ada", "correct", said, "Bob pays 5,000.")
    assert await desk.waits("boss") == []
    with pytest.raises(UnknownMemoryError):
        await desk.do("boss", "accept", said)
    await desk.do("ada", "promote" if status is Status.ACTIVE else "accept", said)
    await desk.do("boss", "correct", said, "Bob pays 50.")
    await desk.do("boss", "accept", said)
    after = await desk.look(said)
    assert (after.statement, after.status) == ("Bob pays 50.", Status.ACTIVE)


async def test_a_wish_ends_with_what_it_is_about(desk: Desk) -> None:
    room = await desk.alone("ada")
    old = await desk.said(room, "ada")
    await desk.do("ada", "promote", old)
    new = await desk.said(room, "ada", "We launch in April.", status=Status.PENDING, held=(Held.OUTRANKED,))
    await desk.do("ada", "accept", new)
    assert (await desk.look(old)).status is Status.SUPERSEDED
    assert await desk.waits("boss") == []


async def test_advice_to_a_guest_alone_waits_where_a_principal_sees_it_and_to_a_member_does_not(desk: Desk) -> None:
    for who in ("guest", "ada"):
        await desk.said(
            await desk.alone(who), EXECUTIVE, f"Ask {who}.",
            kind=Kind.ADVICE, subject=who, status=Status.PENDING, held=(Held.TAINTED,), trust=Trust.OWN,
        )  # fmt: skip
    assert await desk.waits("boss") == ["Ask guest."]
    assert await desk.waits("ada") == ["Ask ada."]
    unlink = sa.delete(handle).where(handle.c.person_id.in_(("ada", "guest")))
    await desk.write(lambda tx: tx.execute(unlink) is None)
    assert await desk.waits("boss") == [], "whose conversation it is is not known any more"


async def test_what_was_rejected_waits_again_when_it_is_restored(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", status=Status.PENDING, held=(Held.AUTHORITY,))
    await desk.do("ada", "reject", said)
    assert (await desk.look(said)).status is Status.RETRACTED
    await desk.do("ada", "restore", said)
    after = await desk.look(said)
    assert (after.status, after.held) == (Status.PENDING, (Held.AUTHORITY,))
    assert (await desk.do("ada", "accept", said)).outcome is Outcome.ASKED


async def test_correcting_what_waits_does_not_let_it_stand(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", status=Status.PENDING, held=(Held.PAYMENT,))
    await desk.do("ada", "correct", said, "Invoices go to Bob.")
    assert (await desk.look(said)).held == (Held.PAYMENT,)


async def test_what_a_principal_retracted_its_speaker_cannot_restore(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada")
    await desk.do("boss", "retract", said)
    with pytest.raises(NotAllowedError):
        await desk.do("ada", "restore", said)
    await desk.do("boss", "restore", said)
    assert (await desk.look(said)).status is Status.ACTIVE


async def test_a_restored_one_does_not_push_out_what_stands_now(desk: Desk) -> None:
    room = await desk.alone("ada")
    old = await desk.said(room, "ada")
    await desk.do("ada", "retract", old)
    new = await desk.said(room, "ada", "We launch in April.")
    with pytest.raises(ConflictError, match=new.handle):
        await desk.do("ada", "restore", old)


async def test_a_restored_one_is_disputed_if_others_say_otherwise_by_now(desk: Desk) -> None:
    room = await desk.room("ada", "bob")
    one = await desk.said(room, "ada")
    await desk.do("ada", "retract", one)
    other = await desk.said(room, "bob", "We launch in May.")
    await desk.do("ada", "restore", one)
    assert (await desk.look(one)).status is (await desk.look(other)).status is Status.DISPUTED


# --- promotion -------------------------------------------------------------------------------------------------------


async def test_a_members_wish_waits_for_a_principal_who_sees_the_statement_and_not_the_conversation(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", "The salaries are 5.")
    await desk.do("ada", "correct", said, "We launch in March.")
    assert await desk.sees(person("boss")) == []
    assert (await desk.do("ada", "promote", said)).outcome is Outcome.ASKED
    assert (await desk.look(said)).visibility is Visibility.SESSION
    assert await desk.sees(person("boss")) == ["We launch in March."]
    assert await desk.sees(person("bob")) == []
    assert await desk.words(said, person("boss")) == []
    told = await desk.history(said, person("boss"))
    assert not any("salaries" in str((each.before, each.after)) for each in told)
    assert told[-1].reason == "a reason"
    assert any("salaries" in str(each.before) for each in await desk.history(said, person("ada")))

    await desk.do("boss", "accept", said)
    assert await desk.sees(person("bob")) == ["We launch in March."]
    assert await desk.words(said, person("bob")) == []
    assert not any("salaries" in str((each.before, each.after)) for each in await desk.history(said, person("bob")))


async def test_a_declined_wish_leaves_it_where_it_was(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "promote", said)
    await desk.do("boss", "reject", said)
    after = await desk.look(said)
    assert (after.status, after.promotion_by, after.visibility) == (Status.ACTIVE, None, Visibility.SESSION)
    assert await desk.sees(person("boss")) == []
    assert [kind for kind, _ in await desk.audited()] == ["memory_promoted"] * 2


async def test_who_asked_may_not_say_the_yes_as_well(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "promote", said)
    with pytest.raises(ConflictError):
        await desk.do("ada", "accept", said)
    assert (await desk.look(said)).visibility is Visibility.SESSION


async def test_a_principals_promotion_acts_at_once_and_supersedes_what_the_speaker_had_said_to_the_company(
    desk: Desk,
) -> None:
    old = await desk.said(await desk.room("boss", "ada"), "ada", visibility=Visibility.COMPANY)
    new = await desk.said(await desk.room("boss", "ada", key="test:other"), "ada", "We launch in April.")
    await desk.do("boss", "promote", new)
    assert (await desk.look(old)).replaced_by == new.id
    assert await desk.sees(person("bob"), wanted=only(Status.ACTIVE)) == ["We launch in April."]


async def test_new_words_of_what_was_promoted_wait_for_a_principal_again(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada")
    await desk.do("boss", "promote", said)
    with pytest.raises(ConflictError):
        await desk.do("ada", "correct", said, "We launch in March.")
    assert (await desk.look(said)).visibility is Visibility.COMPANY
    assert (await desk.do("ada", "correct", said, "Pay Eve.")).outcome is Outcome.ASKED
    assert await desk.sees(person("bob")) == []
    assert await desk.sees(person("ada")) == ["Pay Eve."]
    await desk.do("boss", "accept", said)
    assert await desk.sees(person("bob")) == ["Pay Eve."]
    await desk.do("boss", "correct", said, "Do not pay Eve.")
    assert await desk.sees(person("bob")) == ["Do not pay Eve."]


async def test_an_older_one_does_not_take_the_place_of_what_the_company_sees(desk: Desk) -> None:
    old = await desk.said(await desk.room("boss", "ada"), "ada")
    new = await desk.said(await desk.room("ada", key="test:other"), "ada", visibility=Visibility.COMPANY)
    with pytest.raises(ConflictError, match=new.handle):
        await desk.do("boss", "promote", old)


async def test_what_is_promoted_against_what_another_said_to_the_company_is_disputed_there(desk: Desk) -> None:
    room = await desk.room("boss", "ada", "bob")
    one = await desk.said(room, "ada", visibility=Visibility.COMPANY)
    two = await desk.said(room, "bob", "We launch in May.")
    await desk.do("boss", "promote", two)
    assert (await desk.look(one)).status is (await desk.look(two)).status is Status.DISPUTED


async def test_what_is_taken_back_from_the_company_stays_with_those_who_heard_it(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss", "ada"), "ada", visibility=Visibility.COMPANY)
    await desk.do("boss", "demote", said)
    assert await desk.sees(person("bob")) == []
    assert await desk.sees(person("ada")) == ["We launch in March."]


async def test_what_waits_cannot_be_promoted(desk: Desk) -> None:
    said = await desk.said(await desk.room("boss"), "boss", status=Status.PENDING, held=(Held.TAINTED,))
    with pytest.raises(ConflictError):
        await desk.do("boss", "promote", said)


# --- initiatives, sources --------------------------------------------------------------------------------------------


async def test_an_owner_of_the_roster_takes_the_place_of_a_name_and_forgetting_leaves_none(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", "Zoe moves.", kind=Kind.INITIATIVE, owner_name="Zoe")
    await desk.do("ada", "plan", said, {"owner": PersonId("bob")})
    after = await desk.look(said)
    assert (after.owner, after.owner_name) == ("bob", None)
    other = await desk.said(said.session, "ada", "Kim moves.", kind=Kind.INITIATIVE, subject="k", owner_name="Kim")
    await desk.do("ada", "plan", other, {"owner": None})
    assert (await desk.look(other)).owner_name is None
    last = await desk.said(said.session, "ada", "Lou moves.", kind=Kind.INITIATIVE, subject="l", owner_name="Lou")
    await desk.write(lambda tx: store.erase(tx, desk.rooms.recorder, last, MODEL, desk.now))
    names = await desk.rooms.database.read(lambda c: c.execute(sa.select(claim.c.owner_name)).scalars().all())
    assert list(names) == [None, None, None]


async def test_the_plan_of_an_initiative_changes_field_by_field(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", "Move the office.", kind=Kind.INITIATIVE)
    await desk.do("ada", "plan", said, {"owner": PersonId("bob"), "due": date(2026, 5, 1)})
    await desk.do("ada", "plan", said, {"work": Work.BLOCKED})
    after = await desk.look(said)
    assert (after.owner, after.due, after.work) == ("bob", date(2026, 5, 1), Work.BLOCKED)
    with pytest.raises(UnclearError):
        await desk.do("ada", "plan", said, {"owner": PersonId("guest")})
    with pytest.raises(ConflictError):
        await desk.do("ada", "plan", said, {"work": None})
    with pytest.raises(ConflictError):
        await desk.do("ada", "plan", await desk.said(said.session, "ada", subject="other"), {"work": Work.ACTIVE})


async def test_what_its_writer_deleted_stands_again_once_it_is_kept(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", source=Source.DELETED)
    with pytest.raises(ConflictError):
        await desk.do("ada", "promote", said)
    await desk.do("ada", "keep", said)
    assert (await desk.look(said)).source is Source.FRESH
    with pytest.raises(ConflictError):
        await desk.do("ada", "keep", said)


async def test_advice_belongs_to_whoever_asked(desk: Desk) -> None:
    room = await desk.room("ada", "bob")
    advice = await desk.said(room, EXECUTIVE, "Wait until May.", kind=Kind.ADVICE)
    assert (await desk.do("bob", "correct", advice, "Wait until June.")).outcome is Outcome.DONE
    assert (await desk.look(advice)).statement == "Wait until June."


async def test_only_who_asked_for_an_advice_can_have_it_forgotten(desk: Desk) -> None:
    room = await desk.room("ada", "bob")
    asked, answered = await desk.spoke(room, "ada", "When do we launch?", "Wait until May.")
    advice = await desk.said(room, EXECUTIVE, "Wait until May.", kind=Kind.ADVICE, messages=(answered,))
    eraser = CountingEraser()
    disputed = await desk.do("bob", "forget", advice, eraser)
    assert isinstance(disputed, Done)
    assert eraser.erased == []
    await desk.do("ada", "forget", advice, eraser)
    assert eraser.erased == [advice.id]
    assert asked != answered


# --- undoing ---------------------------------------------------------------------------------------------------------


async def test_undoing_a_message_takes_back_what_rests_on_it_alone_and_marks_the_rest(desk: Desk) -> None:
    room = await desk.room("boss", "ada", "bob")
    message, _ = await desk.spoke(room, "ada", "We launch in March, in Rome.")
    alone = await desk.said(room, "ada", messages=(message,))
    waits = await desk.said(
        room, "ada", "Bob pays.", messages=(message,), subject="pay", status=Status.PENDING, held=(Held.PAYMENT,)
    )
    both = await desk.said(room, "ada", "In Rome.", messages=(message, "m2"), subject="place")
    other = await desk.said(room, "ada", "Bob comes.", messages=("m2",), subject="guests")
    with pytest.raises(NotAllowedError):
        await desk.undo("bob", message)
    undone = await desk.undo("ada", message)
    assert {each.id for each in undone.retracted} == {alone.id, waits.id}
    assert [each.id for each in undone.marked] == [both.id]
    assert (await desk.look(both)).source is Source.EDITED
    assert (await desk.look(both)).status is Status.ACTIVE
    assert await desk.look(other) == other
    with pytest.raises(UnknownMemoryError):
        await desk.undo("ada", "no such message")


async def test_a_message_of_a_conversation_that_one_does_not_see_cannot_be_undone(desk: Desk) -> None:
    room = await desk.alone("ada")
    message, _ = await desk.spoke(room, "ada", "We launch in March.")
    said = await desk.said(room, "ada", messages=(message,))
    with pytest.raises(UnknownMemoryError):
        await desk.undo("boss", message)
    assert (await desk.look(said)).status is Status.ACTIVE


async def test_a_mail_of_a_proven_domain_alone_changes_nothing(desk: Desk) -> None:
    said = await desk.said(await desk.alone("boss"), "boss")
    with pytest.raises(NotAllowedError):
        await desk.do("boss", "retract", said, door=Door.CLOSED)
    with pytest.raises(NotAllowedError):
        await desk.do("boss", "retract", await desk.said(await desk.room("boss", "ada"), "ada"), door=Door.OWN_ONLY)


async def test_the_operator_may_do_everything_and_is_named(desk: Desk) -> None:
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("operator", "retract", said)
    assert await desk.audited() == [("memory_retracted", "operator")]


def only(status: Status) -> Filter:
    return Filter(statuses=(status,))
