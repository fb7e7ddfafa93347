"""Who has left and is erased: nothing that they said, and no account or name of theirs, stands in any table; what
others said and what the company decided stays."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.app.erasing import forgetting, of_people
from bot.app.opening import Store
from bot.audit.events import Actor
from bot.audit.verify import verify
from bot.erasure.people import KIND, PersonErasure
from bot.erasure.replay import replay
from bot.erasure.service import FINISH
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, BootId, PersonId
from bot.memory import store as memories
from bot.memory.model import Support, Visibility
from bot.memory.tables import erase_journal
from bot.outbox import store as outbox
from bot.outbox.store import Origin as Cause
from bot.outbox.tables import Policy
from bot.people import pairing
from bot.people import store as people
from bot.people.erasing import NAME
from bot.people.model import Handle, Origin, Person, Role
from bot.scheduler.model import Cron, Kind
from bot.scheduler.service import Schedules, Wish
from bot.sessions.tables import message as message_table
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.tables import task as task_table
from bot.tasks.worker import Done
from tests.clock import START
from tests.conftest import KEY
from tests.erasure.memory_desk import remember, said_in, session_of
from tests.erasure.test_service import erasure, everywhere, finish, work
from tests.intake.events import GROUP, dm, message
from tests.orchestrator.office import Office
from tests.sessions.rooms import BOSS, CHANNEL

CLEO = PersonId("cleo")
ACCOUNT = "kleopatra-account-77"
SHOWN = f"Name of {ACCOUNT}"
"""As her platform shows her."""
PRIVATE = "My sister moves to Wladiwostok in spring."
AMONG = "The Krakatau depot should be closed before Christmas."
DECIDED = "The Popocatepetl office opens in the autumn of next year."
OTHERS = "We buy two vans for the Timbuktu branch."
THERE = {ACCOUNT: ["presence"]}
"""That an account is in a room is said by its platform, as long as it is: that counts for who reads there."""
GONE = ("wladiwostok", "krakatau", ACCOUNT, "cleopatra")


def rooms(office: Office) -> PersonErasure:
    return of_people(Store(office.database, office.recorder, office.clock, KEY), lambda: None)


@pytest.fixture
async def talked(office: Office) -> Office:
    new = Person(
        CLEO, "Cleopatra", Role.MEMBER, (), "UTC", None, Origin.PAIRED, True,
        frozenset({Handle(CHANNEL, ACCOUNT, Origin.PAIRED)}),
    )  # fmt: skip
    await office.database.write(lambda tx: people.add(tx, office.recorder, new, BOSS, START))
    await office.database.write(lambda tx: people.greet(tx, CHANNEL, ACCOUNT, START))
    office.model.answer = lambda request: f"Noted: {AMONG if AMONG in repr(request.messages[-1]) else PRIVATE}"
    await office.hear(message("1", PRIVATE, by=ACCOUNT, thread=dm("7")))
    await office.ended("answered")
    await office.hear(message("2", f"Hello all. {AMONG} {DECIDED}", by=ACCOUNT, thread=GROUP))
    await office.ended("answered", "answered")
    office.model.answer = lambda request: "Fine."
    await office.hear(message("3", OTHERS, by="1", thread=GROUP))
    await office.ended("answered", "answered", "answered")
    await office.said(3)
    return office


async def left(office: Office) -> None:
    now = office.clock.now()
    await office.database.write(lambda tx: people.deactivate(tx, office.recorder, CLEO, BOSS, now))


async def erase(office: Office, *, company_too: bool = False) -> None:
    room = rooms(office)
    await room.begin(CLEO, BOSS, company_too=company_too)
    query = sa.select(task_table.c.id).where(task_table.c.kind == KIND, task_table.c.ended_at.is_(None))
    (found,) = await office.database.read(lambda c: c.execute(query).scalars().all())
    task = await office.database.read(lambda c: tasks.get(c, found))
    assert task is not None
    done = await room.handlers()[KIND](task)
    assert isinstance(done, Done)
    ended = task_table.update().where(task_table.c.id == found).values(state="done", ended_at=office.clock.now())

    def unit(tx: Tx) -> None:
        tx.execute(ended)
        if done.apply is not None:
            done.apply(tx)

    await office.database.write(unit)


async def anywhere(office: Office) -> dict[str, list[str]]:
    return {word: found for word in GONE if (found := await everywhere(office, word))}


async def test_nothing_of_theirs_stands_in_any_table_and_what_others_said_stays(talked: Office) -> None:
    office = talked
    said = (await said_in(office, await session_of(office, GROUP.key)))[0]
    session = await session_of(office, GROUP.key)
    claim = await remember(office, said, session, AMONG, "The Krakatau depot is closed before Christmas.", speaker=CLEO)
    await left(office)
    assert set(await anywhere(office)) == set(GONE)
    held = await office.database.read(lambda c: rooms(office).preview(c, CLEO))
    assert (held.conversations, held.messages, held.memories, held.company, held.accounts) == (1, 1, 1, 0, 1)
    await erase(office)
    assert await anywhere(office) == THERE
    assert "message" in await everywhere(office, "Timbuktu")
    assert await office.database.read(lambda c: memories.get(c, claim.id)) is None
    known = await office.database.read(lambda c: people.get(c, CLEO))
    assert known is not None
    assert (known.name, known.handles, known.active) == (NAME, frozenset(), False)
    verdict = await office.database.read(lambda c: verify(c, KEY))
    assert verdict.broken == ()
    told = [json.loads(json.dumps(each.payload))["step"] for each in await office.audited("person_erased")]
    assert told == ["begun", "done"]


async def test_what_the_company_decided_stays_without_their_words_unless_it_is_to_go(talked: Office) -> None:
    office = talked
    session = await session_of(office, GROUP.key)
    said = (await said_in(office, session))[0]
    statement = "The Popocatepetl office opens in autumn."
    claim = await remember(office, said, session, DECIDED, statement, speaker=CLEO, visibility=Visibility.COMPANY)
    await left(office)
    await erase(office)
    stays = await office.database.read(lambda c: memories.get(c, claim.id))
    assert stays is not None
    assert (stays.statement, stays.support) == (statement, Support.PERSON)
    assert await everywhere(office, "next year") == []
    await erase(office, company_too=True)
    assert await everywhere(office, "Popocatepetl") == []


async def test_what_waits_for_them_and_what_they_scheduled_goes_too(talked: Office) -> None:
    office = talked
    cleo = await office.database.read(lambda c: people.get(c, CLEO))
    assert cleo is not None
    wish = Wish(Kind.REMINDER, "call the Wladiwostok consulate", Cron("0 9 * * *"), "UTC")
    op = Send(ReplyPath("test:dm:7", ACCOUNT), "Krakatau brief", "Krakatau brief")
    account = Handle(CHANNEL, ACCOUNT, Origin.PAIRED)
    now = office.clock.now()

    def unit(tx: Tx) -> None:
        Schedules(office.recorder).make(tx, wish, cleo, None, Actor("person", CLEO), now)
        cause = Cause(None, None, None)
        outbox.insert(tx, CHANNEL, [op], cause, Policy.PARK, BootId(""), now + timedelta(days=1), may_leave=False)
        pairing.ask(tx, office.recorder, account, "cleopatra", now)

    await office.database.write(unit)
    await left(office)
    await erase(office)
    assert await anywhere(office) == THERE


async def test_it_takes_that_they_have_left(talked: Office) -> None:
    with pytest.raises(PermanentError, match="has not left"):
        await rooms(talked).begin(CLEO, BOSS, company_too=False)
    with pytest.raises(PermanentError, match="nobody called"):
        await rooms(talked).begin(PersonId("nobody"), BOSS, company_too=False)
    assert await talked.audited("person_erased") == []


async def test_it_can_be_done_twice_and_leaves_a_receipt(talked: Office, tmp_path: Path) -> None:
    office = talked
    await left(office)
    await erase(office)
    office.clock.advance(timedelta(minutes=1))
    await erase(office)
    await finish(office, work(office, tmp_path / "blobs"))
    receipts = [each.payload["why"] for each in await office.audited("erasure_done")]
    assert receipts.count("person") == 2
    noted = sa.select(erase_journal.c.what).where(erase_journal.c.id == CLEO)
    assert set(await office.database.read(lambda c: c.execute(noted).scalars().all())) == {"person"}


async def test_after_a_restore_their_name_and_accounts_go_again(talked: Office) -> None:
    await rooms(talked).again(CLEO)
    known = await talked.database.read(lambda c: people.get(c, CLEO))
    assert known is not None
    assert (known.name, known.handles, known.active) == (NAME, frozenset(), False)
    await rooms(talked).again(PersonId("nobody"))


async def test_a_restore_does_it_again_from_the_journal(talked: Office) -> None:
    office = talked
    own = Store(office.database, office.recorder, office.clock, KEY)
    at = int(office.clock.now().timestamp() * 1_000_000)
    session = await session_of(office, "test:dm:7")
    said = next(each for each in await said_in(office, await session_of(office, GROUP.key)) if AMONG in each.body.text)
    told = [
        {"what": "session", "id": session, "at": at},
        {"what": "message", "id": said.id, "at": at},
        {"what": "person", "id": CLEO, "at": at},
    ]
    await replay(erasure(office), forgetting(own, lambda: None), rooms(office), told)
    assert await anywhere(office) == THERE


async def test_a_file_that_they_sent_among_others_goes_with_its_words(talked: Office) -> None:
    office = talked
    blob = BlobHash("f" * 64)
    kept = {
        "name": "krakatau.pdf",
        "media_type": "application/pdf",
        "blob": blob,
        "text": "Krakatau plan",
        "note": None,
    }
    theirs = message_table.update().where(message_table.c.person_id == CLEO).values(files=[kept], text="")
    await office.database.write(lambda tx: tx.execute(theirs))
    await left(office)
    await erase(office)
    assert await everywhere(office, blob) == ["task"], "to be deleted"
    query = sa.select(task_table.c.payload).where(task_table.c.kind == FINISH)
    payloads = await office.database.read(lambda c: c.execute(query).scalars().all())
    assert [each["blobs"] for each in payloads if each["why"] == "person"] == [[blob]]
    files = [file for said in await said_in(office, await session_of(office, GROUP.key)) for file in said.files]
    assert [(each.name, each.blob, each.text) for each in files] == [("", None, None)]
