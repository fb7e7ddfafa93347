"""Commands about memories, given in rooms and alone with the executive."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.gateway.commands import COMMANDS
from bot.gateway.events import CommandInvoked, Place, PlaceKind, Proof, Thread
from bot.kernel.ids import SessionId
from bot.memory import store
from bot.memory.model import Claim, Held, Kind, Source, Status, Trust, Visibility
from bot.memory.recall import Recall
from bot.orchestrator.commands import HANDLERS
from bot.sessions import threads
from tests.intake.events import GROUP, command, message, sender
from tests.memory.claims import claim, evidence, written
from tests.memory.desk import CountingEraser
from tests.memory.ranker import Words
from tests.orchestrator.office import Office
from tests.orchestrator.test_lanes import greeted
from tests.sessions.rooms import Rooms


class Talk:
    """Says things and reads what is answered to each."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.eraser = CountingEraser()
        self._count = 0
        self._sent = 0

    async def say(self, name: str, arguments: str = "", *, by: str = "1", thread: Thread | None = None) -> str:
        return await self.give(command(self._key(), name, arguments, by=by, thread=thread))

    async def give(self, event: CommandInvoked) -> str:
        await self.office.hear(event)
        self.office.clock.advance(timedelta(minutes=1))
        return await self._answer()

    async def ask(self, text: str, *, by: str = "1", thread: Thread | None = None) -> str:
        await self.office.hear(message(self._key(), text, by=by, thread=thread))
        self.office.clock.advance(timedelta(minutes=1))
        return await self._answer()

    async def _answer(self) -> str:
        """The lines that were sent since the last one."""
        await self.office.ended(*["answered"] * self._count)
        texts = await self.office.said(self._sent + 1)
        answer = "\n".join(texts[self._sent :])
        self._sent = len(texts)
        return answer

    def _key(self) -> str:
        self._count += 1
        return f"k{self._count}"

    async def session(self, key: str) -> SessionId:
        return (await self.office.database.read(lambda c: threads.by_thread(c, [key])))[key].id

    async def plant(
        self, session: SessionId, who: str = "ada", statement: str = "APRICOT runs.", **values: Any
    ) -> Claim:
        now = self.office.clock.now()
        new = claim(now, session=session, speaker=who, statement=statement, **values)
        return await written(self.office.database, self.office.recorder, new, [evidence(statement, now, speaker=who)])

    async def look(self, of: Claim) -> Claim:
        found = await self.office.database.read(lambda c: store.get(c, of.id))
        assert found is not None
        return found


@pytest.fixture
async def talk(office: Office) -> Talk:
    await office.close()
    talk = Talk(office)
    office.eraser = talk.eraser
    office.recall = Recall(office.database, Words(office.database), 1_200)
    await office.open()
    await greeted(office, "1", "2", "3", "4")
    return talk


@pytest.fixture
async def room(talk: Talk, rooms: Rooms) -> SessionId:
    """A group with Ada and Bob; Ada has spoken."""
    await rooms.see(["2", "3"], 3)
    await talk.ask("hi", by="2", thread=GROUP)
    await talk.ask("hi", by="3", thread=GROUP)
    return await talk.session("test:room")


@pytest.fixture
async def alone(talk: Talk) -> SessionId:
    """Ada's own conversation."""
    await talk.ask("hi", by="2")
    return await talk.session("test:dm:2")


def ids(text: str) -> list[str]:
    return re.findall(r"^- `([0-9a-z]{6})` ", text, re.MULTILINE)


def test_every_command_of_the_lane_has_its_handler() -> None:
    assert {name for name, each in COMMANDS.items() if not each.immediate} == set(HANDLERS)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("corect", "; did you mean `/correct`?"), ("dispute", "; did you mean `/retract`?"), ("xyzzy", ".")],
)
async def test_a_mistyped_command_is_told_and_never_remembered(talk: Talk, name: str, meant: str) -> None:
    said = await talk.say(name, "ab12cd Our runway is 12 months.", by="2")
    assert said.startswith(f"I know no command `/{name}`{meant} ")
    assert await talk.office.audited("memory_written") == []


# --- looking ---------------------------------------------------------------------------------------------------------


async def test_a_room_is_told_its_own_memories_and_its_people_alone_all_that_they_see(
    talk: Talk, room: SessionId, alone: SessionId
) -> None:
    await talk.plant(room)
    await talk.plant(alone, statement="CHERRY runs.", subject="c")
    said = await talk.say("memories", by="3", thread=GROUP)
    assert "APRICOT" in said
    assert "CHERRY" not in said
    said = await talk.say("memories", by="2")
    assert "APRICOT" in said
    assert "CHERRY" in said
    assert "APRICOT" not in await talk.say("memories", by="1")


async def test_memories_are_found_by_words_and_shown_whole_by_their_id(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    await talk.plant(alone, statement="CHERRY runs.", subject="c")
    said = await talk.say("memories", "apricot RUNS", by="2")
    assert ids(said) == [one.handle]
    said = await talk.say("memories", one.handle, by="2")
    assert "“APRICOT runs.”" in said
    assert " by me" in said
    assert "written" in said
    assert one.id in said
    assert "nothing with these words" in await talk.say("memories", "banana", by="2")


async def test_what_is_read_is_recorded(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    await talk.say("memories", by="2")
    viewed = await talk.office.audited("memory_viewed")
    assert [(each.actor, each.payload["door"], each.payload["claims"]) for each in viewed] == [
        ("ada", "command", [one.id])
    ]


async def test_what_is_remembered_cannot_smuggle_in_a_link_or_a_second_line(talk: Talk, alone: SessionId) -> None:
    await talk.plant(alone, statement="See [here](https://evil.example/?d=1)\n# Big https://evil.example/x")
    said = await talk.say("memories", by="2")
    assert len(ids(said)) == 1
    assert "](https" not in talk.office.channel.texts[-1]


async def test_what_waits_is_listed_with_its_reason(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone, status=Status.PENDING, held=(Held.UNSUPPORTED,))
    assert "1 wait" in await talk.say("memories", by="2")
    said = await talk.say("memories", "pending", by="2")
    assert ids(said) == [one.handle]
    assert "do not carry it" in said


async def test_why_names_what_stood_before_the_last_answer(talk: Talk, alone: SessionId) -> None:
    await talk.plant(alone, statement="APRICOT is decided.")
    assert "nothing but" in await talk.say("why", by="2")
    await talk.ask("what about apricot?", by="2")
    await talk.plant(alone, statement="CHERRY is bought.", subject="c")
    said = await talk.say("why", by="2")
    assert "APRICOT" in said
    assert "CHERRY" not in said


async def test_why_does_not_show_what_was_taken_away_since(talk: Talk, alone: SessionId, rooms: Rooms) -> None:
    await talk.plant(alone, statement="APRICOT is decided.")
    await talk.ask("what about apricot?", by="2")
    await rooms.see(["4"], key="test:dm:2", kind=PlaceKind.DIRECT)
    said = await talk.say("why", by="2")
    assert "APRICOT" not in said


async def test_why_is_asked_before_anything_was_said(talk: Talk) -> None:
    assert "said nothing here yet" in await talk.say("why", by="2")


# --- changing --------------------------------------------------------------------------------------------------------


async def test_a_correction_is_its_own_reason(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    said = await talk.say("correct", f"{one.handle} APRICOT stops.", by="2")
    assert said.startswith("Corrected.")
    assert (await talk.look(one)).statement == "APRICOT stops."
    said = await talk.say("correct", f"`{one.handle}` APRICOT goes on. reason: Bob says so", by="2")
    assert (await talk.look(one)).statement == "APRICOT goes on."
    said = await talk.say("memories", one.handle, by="2")
    assert "said so in chat" in said
    assert "Bob says so" in said
    assert "it was: “APRICOT runs.”" in said


async def test_another_s_words_are_disputed_and_both_are_shown(talk: Talk, room: SessionId) -> None:
    one = await talk.plant(room)
    said = await talk.say("correct", f"{one.handle} APRICOT stops.", by="3", thread=GROUP)
    assert "disputed" in said
    said = await talk.say("memories", by="2", thread=GROUP)
    assert "APRICOT runs." in said
    assert "APRICOT stops." in said


async def test_another_s_company_memory_is_corrected_beside_it_and_a_principal_is_asked(
    talk: Talk, room: SessionId
) -> None:
    one = await talk.plant(room, visibility=Visibility.COMPANY)
    said = await talk.say("correct", f"{one.handle} APRICOT stops.", by="3")
    assert "once a principal says yes" in said
    beside = [each for each in ids(said) if each != one.handle]
    assert "APRICOT stops." in await talk.say("memories", by="3")
    said = await talk.say("memories", "pending", by="1")
    assert set(ids(said)) == {one.handle, *beside}
    assert "wants the company to see it" in said
    assert "a yes to one side settles it" in said


async def test_ids_may_be_written_in_capitals(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    await talk.say("correct", f"{one.handle.upper()}  and APRICOT stops.", by="2")
    assert (await talk.look(one)).statement == "and APRICOT stops."


async def test_taking_back_wants_a_reason(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    assert "Say why" in await talk.say("retract", one.handle, by="2")
    assert (await talk.look(one)).status is Status.ACTIVE
    assert "Taken back" in await talk.say("retract", f"{one.handle} because it was a joke", by="2")
    assert (await talk.look(one)).status is Status.RETRACTED
    assert "It stands again" in await talk.say("restore", f"{one.handle} it was not", by="2")
    assert "it was a joke" in await talk.say("memories", one.handle, by="2")


async def test_a_member_s_promotion_waits_for_the_principal_who_says_yes_alone(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    await talk.ask("hi", by="3")
    assert "before the principals" in await talk.say("promote", f"{one.handle} all should know", by="2")
    said = await talk.say("memories", "pending", by="1")
    assert ids(said) == [one.handle]
    assert "ada wants the company to see it" in said
    assert "APRICOT" not in await talk.say("memories", by="3")
    assert "stands" in await talk.say("accept", one.handle, by="1")
    assert (await talk.look(one)).visibility is Visibility.COMPANY
    assert "APRICOT" in await talk.say("memories", by="3")


async def test_what_waits_is_accepted_and_rejected(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone, status=Status.PENDING, held=(Held.UNSUPPORTED,))
    two = await talk.plant(alone, statement="CHERRY runs.", subject="c", status=Status.PENDING, held=(Held.PAYMENT,))
    await talk.say("accept", one.handle, by="2")
    assert (await talk.look(one)).status is Status.ACTIVE
    said = await talk.say("memories", "pending", by="2")
    assert f"it is about money. A principal decides: `/accept {two.handle}` puts it before them" in said
    assert two.handle not in await talk.say("memories", "pending", by="1")
    assert "once one of them says yes, I go by it" in await talk.say("accept", two.handle, by="2")
    assert "It was put before the principals" in await talk.say("memories", "pending", by="2")
    assert f"`/accept {two.handle}` asks them" in await talk.say("correct", f"{two.handle} DATE runs.", by="2")
    await talk.say("accept", two.handle, by="2")
    assert ids(await talk.say("memories", "pending", by="1")) == [two.handle]
    await talk.say("reject", f"{two.handle} nonsense", by="1")
    assert (await talk.look(two)).status is Status.RETRACTED


async def test_a_guest_alone_sees_what_waits_from_wherever_they_said_it_and_nothing_of_the_company(
    talk: Talk, rooms: Rooms
) -> None:
    await rooms.see(["2", "4"], 3)
    await talk.ask("hi", by="4", thread=GROUP)
    await talk.ask("hi", by="4")
    room = await talk.session("test:room")
    await talk.plant(room, "guest", status=Status.PENDING, held=(Held.UNTRUSTED,), trust=Trust.GUEST)
    await talk.plant(room, statement="CHERRY runs.", subject="c", visibility=Visibility.COMPANY)
    said = await talk.say("memories", "pending", by="4")
    assert "APRICOT" in said
    assert "Somebody of the company decides" in said
    assert "CHERRY" not in await talk.say("memories", by="4")


async def test_an_id_of_another_s_conversation_is_no_id(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    for name in ("correct", "retract", "restore", "promote", "accept", "reject"):
        said = await talk.say(name, f"{one.id} anything at all", by="3")
        assert "no memory" in said, name
        assert "APRICOT" not in said
    assert "nothing like that" in await talk.say("forget", one.id, by="3")
    assert (await talk.look(one)).version == 1


async def test_a_command_without_an_id_says_how_it_is_given(talk: Talk) -> None:
    for name in ("correct", "retract", "restore", "promote", "accept", "reject"):
        assert "by its id" in await talk.say(name, by="2")
    assert "/forget" in await talk.say("forget", by="2")


async def test_what_became_of_it_is_not_changed_twice(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone, kind=Kind.FACT, source=Source.DELETED)
    assert "was deleted" in await talk.say("promote", f"{one.handle} everybody", by="2")
    assert (await talk.look(one)).version == 1


# --- forgetting ------------------------------------------------------------------------------------------------------


async def test_forgetting_shows_what_would_go_and_wants_a_yes(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    said = await talk.say("forget", one.handle, by="2")
    assert "memories: 1, messages: 1" in said
    assert talk.eraser.erased == []
    assert "Forgotten" in await talk.say("forget", f"{one.handle} yes", by="2")
    assert talk.eraser.erased == [one.id]
    assert talk.eraser.rung >= 1


async def test_forgetting_by_words_asks_back_when_several_match(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    two = await talk.plant(alone, statement="APRICOT is sweet.", subject="taste")
    said = await talk.say("forget", "apricot", by="2")
    assert set(ids(said)) == {one.handle, two.handle}
    said = await talk.say("forget", "apricot sweet", by="2")
    assert f"/forget {two.handle} yes" in said
    assert talk.eraser.erased == []


async def test_a_yes_after_words_confirms_when_they_mean_one(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    two = await talk.plant(alone, statement="APRICOT is sweet.", subject="taste")
    said = await talk.say("forget", "apricot yes", by="2")
    assert set(ids(said)) == {one.handle, two.handle}
    assert "with its id and `yes`" in said
    assert talk.eraser.erased == []
    assert "Forgotten" in await talk.say("forget", "apricot sweet yes", by="2")
    assert talk.eraser.erased == [two.id]
    assert "nothing like that" in await talk.say("forget", "banana yes", by="2")


async def test_words_that_hold_a_yes_are_looked_for_first(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone, statement="The board said yes.")
    assert f"/forget {one.handle} yes" in await talk.say("forget", "said yes", by="2")
    assert talk.eraser.erased == []


async def test_another_s_words_are_not_erased_but_disputed(talk: Talk, room: SessionId) -> None:
    one = await talk.plant(room)
    assert "I do not erase it" in await talk.say("forget", one.handle, by="3", thread=GROUP)
    await talk.say("forget", f"{one.handle} yes", by="3", thread=GROUP)
    assert talk.eraser.erased == []
    assert (await talk.look(one)).status is Status.DISPUTED


async def test_by_a_mail_of_a_proven_domain_alone_nothing_is_changed(talk: Talk, alone: SessionId) -> None:
    one = await talk.plant(alone)
    for number, name in enumerate(("correct", "retract", "forget", "promote")):
        asked = command(f"m{number}", name, f"{one.handle} yes because", by="2")
        talk._count += 1
        place = Place(PlaceKind.DIRECT, "")
        said = await talk.give(replace(asked, sender=sender("2", proof=Proof.DOMAIN), place=place))
        assert "changes no memory" in said, name
    assert (await talk.look(one)).version == 1
    assert talk.eraser.erased == []
